"""Short names for what an agent-server tells, and for requests in memory."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils.timezone import now

from chat.agentserver.events import (
    AgentMessage,
    AppendDisplay,
    CommandComplete,
    DisplayInfo,
    Event,
    InteractionRequested,
    QueueChanged,
    QueueEntry,
    QueueSnapshot,
    RequestCancelled,
    RequestQueued,
    RequestRef,
    RequestStarted,
    SetDisplay,
    UserRequest,
)
from chat.models import Request, RequestState
from chat.transcript import painting
from chat.transcript.drawing import Changes
from chat.transcript.live import LiveTranscript
from chat.transcript.live_request import LiveRequest
from chat.transcript.reading import StoredRequest


def ref(key: str) -> RequestRef:
    if key.startswith("agent-"):
        return RequestRef(client_request_id=key)
    return RequestRef(request_id=key)


def message(key: str, content: Any, source: str = "test", kind: str | None = None) -> AgentMessage:
    return AgentMessage(content, ref(key), source, kind=kind)


def append(
    key: str, content: Any, mode: str = "inline", *, source: str = "test", kind: str | None = None
) -> AppendDisplay:
    return AppendDisplay(message=message(key, content, source, kind), mode=mode)


def display(key: str, content: Any, *, source: str = "test") -> SetDisplay:
    return SetDisplay(message=message(key, content, source))


def info(key: str, source: str, schema: str = "", name: str = "") -> DisplayInfo:
    action = {"schemaName": schema, "actionName": name} if schema else None
    return DisplayInfo(ref=ref(key), source=source, action=action)


def asked(key: str, text: str) -> UserRequest:
    return UserRequest(ref=ref(key), text=text)


def complete(key: str, **result: Any) -> CommandComplete:
    return CommandComplete(ref=ref(key), result=result)


def entry(key: str, text: str = "", *, at: int = 0, running: bool = False) -> QueueEntry:
    return QueueEntry(
        key,
        text,
        "running" if running else "queued",
        submitted_at_ms=at or None,
        started_at_ms=at or None if running else None,
    )


def queued(key: str, text: str = "", *, at: int = 0) -> RequestQueued:
    return RequestQueued(entry=entry(key, text, at=at))


def started(key: str, text: str = "", *, at: int = 0) -> RequestStarted:
    return RequestStarted(entry=entry(key, text, at=at, running=True))


def snapshot(*entries: QueueEntry) -> QueueChanged:
    running = next((e for e in entries if e.state == "running"), None)
    return QueueChanged(
        snapshot=QueueSnapshot(running, tuple(e for e in entries if e is not running))
    )


def cancelled(key: str, reason: str = "user") -> RequestCancelled:
    return RequestCancelled(request_id=key, reason=reason)


def question(
    number: str, key: str = "", choices: tuple[str, ...] = ("Yes", "No"), default: int | None = None
) -> InteractionRequested:
    return InteractionRequested(
        interaction_id=number,
        type="question",
        ref=ref(key) if key else None,
        message="Sure?",
        choices=choices,
        default_id=default,
    )


def row(
    key: str,
    text: str = "",
    *,
    state: RequestState = RequestState.PENDING,
    seq: int = 1,
    created_at: datetime | None = None,
    upstream_at_ms: int | None = None,
) -> StoredRequest:
    """A request as it is read from the database, without answers."""
    request = Request(
        request_id=key,
        text=text,
        state=state,
        seq=seq,
        created_at=created_at or now(),
        upstream_at_ms=upstream_at_ms,
    )
    return StoredRequest(request, [])


def transcript(*rows: StoredRequest, mark: int = 0) -> LiveTranscript:
    live = LiveTranscript("key", backfill_after_ms=mark)
    live.adopt(rows)
    return live


def tell(live: LiveTranscript, *events: Event) -> LiveTranscript:
    """Apply the events; strangers are looked up, and nobody knows them."""
    for event in events:
        live.apply(event)
        live.settle_strangers(live.strangers)
    return live


def words(live: LiveRequest) -> list[str]:
    """What each of its bubbles says."""
    return ["".join(part.text for part in bubble.segments) for bubble in live.thread.bubbles]


def drawn(live: LiveRequest) -> Changes:
    """Draw it; it has a place in the transcript."""
    live.seq = live.seq or 1
    return painting.draw(live)
