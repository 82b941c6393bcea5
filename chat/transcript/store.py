"""Writes and reads the rows of a transcript. The only writer of requests and messages.

Blocking: from the event loop call it through `in_db`. Every write that a page could see bumps
the conversation's revision and stamps the rows with it (Invariant 3).
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now

from chat.display.blocks import render_user_text, wrap_blocks
from chat.display.words import clean_text
from chat.models import (
    UNFINISHED,
    Conversation,
    Message,
    MessageState,
    Request,
    RequestState,
    Role,
)
from chat.transcript.retention import prune_conversation


def message_uid(conversation_key: str, request_id: str, step: int) -> str:
    """The name of a bubble: the same bubble gets the same name from every owner."""
    digest = hashlib.blake2b(
        f"{conversation_key}/{request_id}/{step}".encode("utf-8", "replace"), digest_size=10
    )
    return digest.hexdigest()


def accept(conversation: Conversation, text: str, client_id: str, *, retry_of: str = "") -> Request:
    """Store what the user sent, once per `client_id`: the same id again gives the first request.

    It is durable when this returns (C06), whatever happens to the page or the agent-server.
    """
    text = clean_text(text)
    with transaction.atomic():
        locked = Conversation.objects.select_for_update().get(pk=conversation.pk)
        earlier = locked.requests.filter(client_id=client_id).first()
        if earlier is not None:
            return earlier
        locked.revision += 1
        request = Request.objects.create(
            conversation=locked,
            request_id=str(uuid4()),
            client_id=client_id,
            text=text,
            seq=locked.next_seq,
        )
        create_user_message(locked, request, MessageState.PENDING, locked.revision)
        if retry_of:
            locked.requests.filter(request_id=retry_of).update(retried=True)
            locked.messages.filter(request__request_id=retry_of).update(revision=locked.revision)
        locked.next_seq += 1
        locked.last_activity_at = now()
        locked.save(update_fields=["revision", "next_seq", "last_activity_at"])
        prune(locked.pk)
    return request


def request_stop(conversation: Conversation, request_id: str = "") -> int:
    """Ask for the end of the running request, or of everything waiting if none runs.

    Returns how many were asked. The state changes when the agent-server says so (C17).
    """
    with transaction.atomic():
        locked = Conversation.objects.select_for_update().get(pk=conversation.pk)
        wanted = locked.requests.filter(state__in=UNFINISHED)
        if request_id:
            wanted = wanted.filter(request_id=request_id)
        elif wanted.filter(state=RequestState.RUNNING).exists():
            wanted = wanted.filter(state=RequestState.RUNNING)
        asked = wanted.update(stop_requested=True)
        if asked:
            locked.revision += 1
            locked.save(update_fields=["revision"])
    return asked


def clear(conversation_id: int) -> int:
    """Erase a transcript and give the new revision; the conversation itself stays.

    The mark sees to it that the agent-server's log never brings any of it back (Invariant 7).
    """
    with transaction.atomic():
        locked = Conversation.objects.select_for_update().get(pk=conversation_id)
        known = locked.requests.exclude(upstream_at_ms=None).order_by("-upstream_at_ms")
        newest = known.values_list("upstream_at_ms", flat=True).first() or 0
        locked.messages.all().delete()
        locked.requests.all().delete()
        locked.revision += 1
        locked.cleared_revision = locked.revision
        locked.backfill_after_ms = max(
            locked.backfill_after_ms, newest, int(now().timestamp() * 1000)
        )
        locked.save(update_fields=["revision", "cleared_revision", "backfill_after_ms"])
    return locked.revision


def prune(conversation_id: int) -> int:
    """Apply the retention rule of the settings to one conversation (DESIGN: Retention)."""
    return prune_conversation(
        conversation_id,
        max_messages=settings.CHAT_MAX_MESSAGES,
        max_age=timedelta(days=settings.CHAT_MAX_AGE_DAYS),
    )


def create_user_message(
    conversation: Conversation, request: Request, state: MessageState, revision: int
) -> None:
    uid = message_uid(conversation.key, request.request_id, 0)
    Message.objects.create(
        uid=uid,
        conversation=conversation,
        request=request,
        role=Role.USER,
        state=state,
        seq=request.seq,
        html=wrap_blocks(uid, [render_user_text(request.text)]),
        text=request.text,
        revision=revision,
        created_at=request.created_at,
    )
