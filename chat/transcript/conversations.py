"""What an owner writes of its conversation itself: the upstream id, the link's state, notices.

Blocking: from the event loop call it through `in_db`. Fenced like `chat.transcript.saving`.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from chat.display.blocks import render_user_text, wrap_blocks
from chat.display.words import clean_text
from chat.models import Conversation, LinkState, Message, Request, RequestState, Role
from chat.transcript.saving import Fenced, fenced_bump
from chat.transcript.store import message_uid

MAX_NAME_CHARS = 256
MAX_ERROR_CHARS = 300


def set_upstream(
    conversation_id: int, epoch: int, upstream_id: str, name: str, *, shared: bool = False
) -> bool:
    """Remember the upstream conversation as soon as it is joined.

    False if another conversation of this site has it: of this user, where it is `shared`.
    Raises `Fenced` when another process has taken over.
    """
    with transaction.atomic():
        mine = Conversation.objects.get(pk=conversation_id).user_id
        of_user = Conversation.objects.filter(user_id=mine)
        # Two conversations of a user that find the same one at the same time wait in line here.
        list(of_user.select_for_update().order_by("pk").values_list("pk", flat=True))
        others = (of_user if shared else Conversation.objects).exclude(pk=conversation_id)
        if others.filter(upstream_id=upstream_id).exists():
            return False
        owned = Conversation.objects.filter(pk=conversation_id, owner_epoch=epoch)
        if not owned.update(upstream_id=upstream_id, name=clean_text(name)[:MAX_NAME_CHARS]):
            raise Fenced
    return True


def set_link_state(conversation_id: int, epoch: int, state: LinkState, error: str) -> None:
    """Where the link is, for the admin and for a page that is just being opened."""
    owned = Conversation.objects.filter(pk=conversation_id, owner_epoch=epoch)
    owned.update(link_state=state, link_error=clean_text(error)[:MAX_ERROR_CHARS])


def orphan_transcript(conversation_id: int, epoch: int, notice: str) -> int:
    """Drop what belonged to an upstream conversation that no longer exists, and forget its id.

    What the user sent and the agent-server never had stays: it goes to the new conversation.
    """
    with transaction.atomic():
        revision = fenced_bump(conversation_id, epoch)
        owned = Request.objects.filter(conversation_id=conversation_id)
        waiting = owned.filter(state=RequestState.PENDING)
        messages = Message.objects.filter(conversation_id=conversation_id)
        messages.exclude(request__in=waiting).delete()
        owned.exclude(pk__in=waiting.values_list("pk", flat=True)).delete()
        messages.update(revision=revision)
        Conversation.objects.filter(pk=conversation_id).update(
            cleared_revision=revision, upstream_id="", history_cursor=-1, backfill_after_ms=0
        )
        _create_notice(conversation_id, notice, revision)
    return revision


def add_notice(conversation_id: int, epoch: int, text: str) -> None:
    """A notice of the site itself at the end of the transcript, unless it stands there already."""
    with transaction.atomic():
        messages = Message.objects.filter(conversation_id=conversation_id)
        newest = messages.order_by("-seq", "-step").first()
        if newest is not None and newest.role == Role.NOTICE and newest.text == text:
            return
        _create_notice(conversation_id, text, fenced_bump(conversation_id, epoch))


def _create_notice(conversation_id: int, text: str, revision: int) -> None:
    conversation = Conversation.objects.get(pk=conversation_id)
    # No request has an empty id, so no bubble has this name.
    uid = message_uid(conversation.key, "", conversation.next_seq)
    Message.objects.create(
        uid=uid,
        conversation=conversation,
        role=Role.NOTICE,
        seq=conversation.next_seq,
        html=wrap_blocks(uid, [render_user_text(text)]),
        text=text,
        revision=revision,
    )
    Conversation.objects.filter(pk=conversation_id).update(next_seq=F("next_seq") + 1)
