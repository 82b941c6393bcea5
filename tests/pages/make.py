"""Rows for the tests of the pages, made at once: what they are about is not how they came."""

from __future__ import annotations

from django.db.models import F

from chat.display.blocks import render_user_text, wrap_blocks
from chat.models import Conversation, Message, Request, RequestState, Role
from chat.transcript.store import message_uid


def fill(chat: Conversation, count: int) -> list[str]:
    """Answered requests, a message each; gives their texts."""
    texts = [f"message {number}" for number in range(count)]
    requests = Request.objects.bulk_create(
        Request(
            conversation=chat,
            request_id=f"request-{number}",
            text=text,
            seq=number + 1,
            state=RequestState.FINAL,
        )
        for number, text in enumerate(texts)
    )
    Message.objects.bulk_create(_message(chat, request) for request in requests)
    Conversation.objects.filter(pk=chat.pk).update(next_seq=count + 1, revision=F("revision") + 1)
    chat.refresh_from_db()
    return texts


def ended(chat: Conversation, text: str, state: RequestState) -> Request:
    """A request that ended so, with its question."""
    request = Request.objects.create(
        conversation=chat,
        request_id=f"request-{text}",
        text=text,
        seq=chat.next_seq,
        state=state,
    )
    message = _message(chat, request)
    message.note = "" if state == RequestState.FINAL else "It did not end well"
    message.save()
    Conversation.objects.filter(pk=chat.pk).update(next_seq=F("next_seq") + 1)
    chat.refresh_from_db()
    return request


def _message(chat: Conversation, request: Request) -> Message:
    uid = message_uid(chat.key, request.request_id, 0)
    return Message(
        uid=uid,
        conversation=chat,
        request=request,
        role=Role.USER,
        seq=request.seq,
        html=wrap_blocks(uid, [render_user_text(request.text)]),
        text=request.text,
        revision=chat.revision + 1,
    )
