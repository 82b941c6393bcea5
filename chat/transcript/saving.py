"""Writes what an owner holds in memory, fenced by its epoch (DESIGN: One owner).

Blocking: from the event loop call it through `in_db`. A write by an owner that lost its lease
raises `Fenced` and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils.timezone import now

from chat.models import (
    Conversation,
    Message,
    MessageState,
    Origin,
    Request,
    RequestState,
    Role,
)
from chat.transcript.store import create_user_message, prune


class Fenced(Exception):  # noqa: N818 - it is a fact about the lease, not a fault
    """Somebody else owns the conversation now: nothing was written, and nothing may be."""


@dataclass(slots=True)
class RequestRow:
    """What the owner wants a request's row to say. `stored` is false for one it discovered."""

    request_id: str
    state: RequestState
    reason: str = ""
    origin: Origin = Origin.USER
    text: str = ""
    stored: bool = True
    upstream_at_ms: int | None = None
    created_at: datetime = field(default_factory=now)
    ended_at: datetime | None = None


@dataclass(slots=True)
class MessageRow:
    """What the owner wants a bubble's row to say; its place comes from its request."""

    uid: str
    request_id: str
    role: Role
    state: MessageState
    step: int
    source: str = ""
    source_icon: str = ""
    segments: list[dict[str, object]] = field(default_factory=list)
    html: str = ""
    text: str = ""
    note: str = ""
    created_at: datetime = field(default_factory=now)


@dataclass(slots=True)
class Saved:
    """The outcome of a save: its revision, the places of new requests, and what was cleared."""

    revision: int
    seqs: dict[str, int]
    gone: set[str]


def save(
    conversation_id: int,
    epoch: int,
    requests: Iterable[RequestRow],
    messages: Iterable[MessageRow],
    history_cursor: int,
) -> Saved:
    """Write what an owner holds in memory, if it still is the owner.

    A request that is gone from the database was cleared meanwhile: it is named in `gone`
    and none of its bubbles is written, so nothing cleared comes back. The log position belongs
    to these rows: after a crash, what is missing here is read again from there.
    Raises `Fenced` when another process has taken over.
    """
    requests, messages = list(requests), list(messages)
    with transaction.atomic():
        revision = fenced_bump(conversation_id, epoch, history_cursor=history_cursor)
        known = _save_requests(conversation_id, requests, revision)
        gone = {row.request_id for row in requests if row.stored} - known.keys()
        missing = {row.request_id for row in messages} - known.keys()
        known |= _places(conversation_id, missing - gone)
        gone |= missing - known.keys()
        _save_messages(conversation_id, messages, known, revision)
    if not all(row.stored for row in requests):
        prune(conversation_id)
    return Saved(revision, {rid: seq for rid, (_, seq) in known.items()}, gone)


def save_cursor(conversation_id: int, epoch: int, history_cursor: int) -> None:
    """Remember how far the agent-server's log was merged; a page sees nothing of that.

    Raises `Fenced` when another process has taken over.
    """
    owned = Conversation.objects.filter(pk=conversation_id, owner_epoch=epoch)
    if not owned.update(history_cursor=history_cursor):
        raise Fenced


def fenced_bump(conversation_id: int, epoch: int, **changes: object) -> int:
    """Begin a write that pages see, inside a transaction; gives the new revision.

    Raises `Fenced` when another process has taken over.
    """
    owned = Conversation.objects.filter(pk=conversation_id, owner_epoch=epoch)
    if not owned.update(revision=F("revision") + 1, last_activity_at=now(), **changes):
        raise Fenced
    revision: int = owned.values_list("revision", flat=True).get()
    return revision


def _save_requests(
    conversation_id: int, rows: list[RequestRow], revision: int
) -> dict[str, tuple[int, int]]:
    known = _places(conversation_id, {row.request_id for row in rows})
    for row in rows:
        if row.request_id in known:
            Request.objects.filter(pk=known[row.request_id][0]).update(
                state=row.state,
                reason=row.reason,
                upstream_at_ms=row.upstream_at_ms,
                ended_at=row.ended_at,
            )
        elif not row.stored:
            known[row.request_id] = _create_request(conversation_id, row, revision)
    return known


def _create_request(conversation_id: int, row: RequestRow, revision: int) -> tuple[int, int]:
    conversation = Conversation.objects.get(pk=conversation_id)
    request = Request.objects.create(
        conversation=conversation,
        request_id=row.request_id,
        origin=row.origin,
        text=row.text,
        seq=conversation.next_seq,
        state=row.state,
        reason=row.reason,
        upstream_at_ms=row.upstream_at_ms,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )
    Conversation.objects.filter(pk=conversation_id).update(next_seq=F("next_seq") + 1)
    if row.origin == Origin.REMOTE:
        create_user_message(conversation, request, MessageState.FINAL, revision)
    return request.pk, request.seq


def _places(conversation_id: int, request_ids: set[str]) -> dict[str, tuple[int, int]]:
    rows = Request.objects.filter(
        conversation_id=conversation_id, request_id__in=request_ids
    ).values_list("request_id", "pk", "seq")
    return {request_id: (pk, seq) for request_id, pk, seq in rows}


def _save_messages(
    conversation_id: int,
    rows: list[MessageRow],
    places: dict[str, tuple[int, int]],
    revision: int,
) -> None:
    agents = [row for row in rows if row.role != Role.USER and row.request_id in places]
    Message.objects.bulk_create(
        [
            Message(
                uid=row.uid,
                conversation_id=conversation_id,
                request_id=places[row.request_id][0],
                role=row.role,
                state=row.state,
                seq=places[row.request_id][1],
                step=row.step,
                source=row.source[:200],
                source_icon=row.source_icon[:32],
                segments=row.segments,
                html=row.html,
                text=row.text,
                note=row.note[:300],
                revision=revision,
                created_at=row.created_at,
            )
            for row in agents
        ],
        update_conflicts=True,
        unique_fields=["uid"],
        update_fields=[
            "state", "source", "source_icon", "segments", "html", "text", "note", "revision",
        ],
    )  # fmt: skip
    for row in rows:
        if row.role == Role.USER:
            Message.objects.filter(uid=row.uid).update(
                state=row.state, note=row.note[:300], revision=revision
            )
