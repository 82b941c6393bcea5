"""Reads transcripts: what a page shows, what changed since, and what an owner must take up.

Blocking: from the event loop call it through `in_db`.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from chat.models import UNFINISHED, Conversation, Message, Request
from chat.transcript.bubbles import BubbleView, order_of, view_of

PAGE_SIZE = 50
"""Messages on a freshly opened page, and for each press of "Earlier messages"."""

MANIFEST_SIZE = 200
"""The newest messages that a page is told of by name, so that it can drop all others."""


@dataclass(frozen=True, slots=True)
class Window:
    """A run of bubbles in order, and whether there are earlier ones."""

    bubbles: list[BubbleView]
    has_earlier: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """What a page at some revision lacks. `reset`: it must drop all it shows first."""

    revision: int
    reset: bool
    bubbles: list[BubbleView]
    uids: list[str]
    first_order: str


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request with its stored bubbles, as an owner takes it up."""

    request: Request
    messages: list[Message]


def newest_window(conversation: Conversation, before: tuple[int, int] | None = None) -> Window:
    """The newest `PAGE_SIZE` bubbles, or those before a place (seq, step)."""
    rows = _messages(conversation.pk)
    if before is not None:
        seq, step = before
        rows = rows.filter(seq__lt=seq) | rows.filter(seq=seq, step__lt=step)
    newest = list(rows.order_by("-seq", "-step")[: PAGE_SIZE + 1])
    bubbles = [view_of(message) for message in reversed(newest[:PAGE_SIZE])]
    return Window(bubbles, has_earlier=len(newest) > PAGE_SIZE)


def changed_since(conversation_id: int, revision: int) -> Difference:
    """What happened after `revision`. The revision is read first: a row that changes while this
    runs is told of twice rather than not at all.
    """
    now_at, cleared_at = Conversation.objects.values_list("revision", "cleared_revision").get(
        pk=conversation_id
    )
    # A page that knows of more than there is comes from before the database was put back.
    reset = not cleared_at <= revision <= now_at
    rows = _messages(conversation_id)
    manifest = list(
        rows.order_by("-seq", "-step").values_list("uid", "seq", "step")[:MANIFEST_SIZE]
    )[::-1]
    changed = rows.order_by("seq", "step")
    if reset:
        changed = changed.filter(uid__in=[uid for uid, _, _ in manifest[-PAGE_SIZE:]])
    else:
        changed = changed.filter(revision__gt=revision)
    return Difference(
        revision=now_at,
        reset=reset,
        bubbles=[view_of(message) for message in changed],
        uids=[uid for uid, _, _ in manifest],
        first_order=order_of(*manifest[0][1:]) if manifest else "",
    )


def unfinished(conversation_id: int) -> list[StoredRequest]:
    """The requests that an owner has to carry to their end, in order."""
    return _stored(Request.objects.filter(conversation_id=conversation_id, state__in=UNFINISHED))


def by_request_id(conversation_id: int, request_ids: set[str]) -> list[StoredRequest]:
    """Those of these requests that are known here."""
    return _stored(
        Request.objects.filter(conversation_id=conversation_id, request_id__in=request_ids)
    )


def known_ids(conversation_id: int, request_ids: set[str]) -> set[str]:
    """Which of these requests are known here, finished or not."""
    rows = Request.objects.filter(conversation_id=conversation_id, request_id__in=request_ids)
    return set(rows.values_list("request_id", flat=True))


def backfill_mark(conversation_id: int) -> int:
    """What the agent-server dates at or before this (ms) and is unknown here was erased."""
    rows = Conversation.objects.filter(pk=conversation_id)
    return rows.values_list("backfill_after_ms", flat=True).first() or 0


def bubbles_of(request: Request) -> list[BubbleView]:
    """The stored bubbles of one request, the question first."""
    rows = _messages(request.conversation_id).filter(request=request)
    return [view_of(message) for message in rows.order_by("step")]


def is_running(conversation: Conversation) -> bool:
    """Whether anything is under way, so that the page offers Stop."""
    return conversation.requests.filter(state__in=UNFINISHED).exists()


def _messages(conversation_id: int) -> QuerySet[Message]:
    """The bubbles that show anything, with their requests."""
    rows = Message.objects.filter(conversation_id=conversation_id).exclude(html="")
    return rows.select_related("request")


def _stored(requests: QuerySet[Request]) -> list[StoredRequest]:
    rows = requests.order_by("seq").prefetch_related("messages")
    return [StoredRequest(row, sorted(row.messages.all(), key=lambda m: m.step)) for row in rows]
