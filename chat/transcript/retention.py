"""What is kept of a conversation, and the erasing of the rest: the newest messages, none too old.

`to_prune` is the rule, pure. `prune_conversation` and `prune_all` apply it to the rows of messages
and requests, in short transactions (DESIGN, Retention; CANVAS 115).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypedDict

from django.conf import settings
from django.db import transaction
from django.db.models import BigIntegerField, Exists, F, Max, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Greatest
from django.utils import timezone

from chat.models import UNFINISHED, Conversation, Message, Request, Role

ROWS_PER_TRANSACTION = 500
CONVERSATIONS_PER_BATCH = 200


@dataclass(frozen=True, slots=True)
class Row:
    """What the rule has to know of a message. `live`: its request is unfinished."""

    id: int
    seq: int
    step: int
    created_at: datetime
    request: int | None = None
    question: bool = False
    live: bool = False


class Limits(TypedDict):
    """The newest `max_messages` of a conversation are kept, and none older than `max_age`."""

    max_messages: int
    max_age: timedelta


def limits() -> Limits:
    """What the settings say: `CHAT_MAX_MESSAGES` and `CHAT_MAX_AGE_DAYS`."""
    return Limits(
        max_messages=settings.CHAT_MAX_MESSAGES,
        max_age=timedelta(days=settings.CHAT_MAX_AGE_DAYS),
    )


def to_prune(
    rows: Sequence[Row], *, now: datetime, max_messages: int, max_age: timedelta
) -> list[int]:
    """The ids of the messages of one conversation to erase, oldest first.

    Newest means by place, not by clock. A time in the future counts as now. A live message and
    the question of a kept answer are never cut, even when that keeps more than `max_messages`.
    """
    newest_first = sorted(rows, key=lambda row: (row.seq, row.step), reverse=True)
    kept = {
        row.id
        for place, row in enumerate(newest_first)
        if row.live or (place < max_messages and now - min(row.created_at, now) <= max_age)
    }
    answered = {row.request for row in rows if row.id in kept and row.request is not None}
    return [
        row.id
        for row in reversed(newest_first)
        if row.id not in kept and not (row.question and row.request in answered)
    ]


def prunable(
    conversation_id: int,
    *,
    max_messages: int,
    max_age: timedelta,
    now: datetime | None = None,
) -> list[int]:
    """The ids of the messages that `prune_conversation` would erase, oldest first."""
    now = now or timezone.now()
    messages = Message.objects.filter(conversation_id=conversation_id)
    # Told from an index: nearly always there is nothing to do.
    too_old = messages.filter(created_at__lt=now - max_age).exists()
    too_many = messages[max_messages : max_messages + 1].exists()
    if not (too_old or too_many):
        return []
    rows = list(_rows(messages))
    return to_prune(rows, now=now, max_messages=max_messages, max_age=max_age)


def prune_conversation(
    conversation_id: int,
    *,
    max_messages: int,
    max_age: timedelta,
    now: datetime | None = None,
) -> int:
    """Erase what is no longer kept of one conversation; how many messages that were.

    Requests that are finished and have no message left go too, and the conversation's backfill
    mark rises to them, so that the agent-server's history never brings them back (DESIGN,
    Invariant 7). The revision stays: what a page already shows stays on it.
    """
    now = now or timezone.now()
    ids = prunable(conversation_id, max_messages=max_messages, max_age=max_age, now=now)
    erased = 0
    for batch in _batches(ids, ROWS_PER_TRANSACTION):
        erased += _erase(conversation_id, batch)
    return erased


def prune_all(
    batch: int = CONVERSATIONS_PER_BATCH,
    *,
    max_messages: int,
    max_age: timedelta,
    now: datetime | None = None,
) -> int:
    """Apply `prune_conversation` to every conversation, `batch` of them read at a time."""
    return sum(
        prune_conversation(pk, max_messages=max_messages, max_age=max_age, now=now)
        for pk in conversation_ids(batch)
    )


def conversation_ids(batch: int = CONVERSATIONS_PER_BATCH) -> Iterator[int]:
    """The ids of all conversations, with no query kept open between two batches."""
    last = 0
    while True:
        ids = list(
            Conversation.objects.filter(pk__gt=last)
            .order_by("pk")
            .values_list("pk", flat=True)[:batch]
        )
        if not ids:
            return
        yield from ids
        last = ids[-1]


def _rows(messages: QuerySet[Message]) -> Iterator[Row]:
    values = messages.values_list(
        "id", "seq", "step", "created_at", "request_id", "role", "request__state"
    )
    for pk, seq, step, created_at, request, role, state in values.iterator():
        yield Row(pk, seq, step, created_at, request, role == Role.USER, state in UNFINISHED)


@transaction.atomic
def _erase(conversation_id: int, ids: Sequence[int]) -> int:
    """Erase these messages, and the requests that this leaves empty."""
    # Before the messages, as every writer does it: two that want the same rows wait in line.
    if not Conversation.objects.select_for_update().filter(pk=conversation_id).exists():
        return 0
    messages = Message.objects.filter(pk__in=ids)
    request_ids = list(
        messages.filter(request__isnull=False).values_list("request_id", flat=True).distinct()
    )
    erased, _ = messages.delete()
    left = Message.objects.filter(request=OuterRef("pk"))
    empty = Request.objects.filter(~Exists(left), ~Q(state__in=UNFINISHED), pk__in=request_ids)
    mark = empty.aggregate(mark=Max("upstream_at_ms"))["mark"]
    if mark is not None:
        Conversation.objects.filter(pk=conversation_id).update(
            backfill_after_ms=Greatest(
                F("backfill_after_ms"), Value(mark, output_field=BigIntegerField())
            )
        )
    empty.delete()
    return erased


def _batches(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
