"""What the agent-server's log and queue say after a (re)join, merged into memory.

Pure. Requests are matched by id; nothing is sent twice, doubled or brought back
(DESIGN: The link's life, Invariants 5-7).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from chat.agentserver.events import (
    CommandComplete,
    Event,
    QueueEntry,
    QueueSnapshot,
    RequestQueued,
    RequestStarted,
    UserRequest,
)
from chat.models import Origin, RequestState
from chat.transcript.live import LiveTranscript, change, key_of
from chat.transcript.live_request import LiveRequest
from chat.transcript.requests import Signal


@dataclass(slots=True)
class Told:
    """All that the log says of one request."""

    first_seq: int
    at_ms: int
    events: list[Event] = field(default_factory=list)

    @property
    def text(self) -> str | None:
        asked = (event.text for event in self.events if isinstance(event, UserRequest))
        return next(asked, None)

    @property
    def complete(self) -> bool:
        return any(isinstance(event, CommandComplete) for event in self.events)


def group_by_request(entries: Iterable[tuple[int, int, Event]]) -> dict[str, Told]:
    """The log (seq, time in ms, event) request by request, in the order of their beginnings."""
    told: dict[str, Told] = {}
    for seq, at_ms, event in entries:
        key = key_of(event)
        if key:
            told.setdefault(key, Told(seq, at_ms)).events.append(event)
    return told


def entries_alive(snapshot: QueueSnapshot | None, events: Iterable[Event]) -> dict[str, QueueEntry]:
    """What is in the agent-server's queue: at the join, or by what it said since."""
    alive = {entry.request_id: entry for entry in snapshot.entries()} if snapshot else {}
    for event in events:
        if isinstance(event, RequestQueued | RequestStarted):
            alive[event.entry.request_id] = event.entry
    return alive


def settle(live: LiveTranscript, told: dict[str, Told], alive: dict[str, QueueEntry]) -> None:
    """Bring every unfinished request to where the agent-server has it.

    A request that is in neither and that the agent-server was never known to have stays
    `pending`: the outbox submits it. One that it had and lost was interrupted.
    """
    for request in live.unfinished:
        said, entry = told.get(request.request_id), alive.get(request.request_id)
        if said is not None and said.text is not None:  # from its beginning, so all of it
            _rebuild(request, said)
        if said is not None and said.complete:
            request.signal(*_ending(request))
        elif entry is not None:
            _requeue(request, entry)
        elif said is not None or request.state != RequestState.PENDING:
            request.signal(Signal.INTERRUPTED, "agent_restart" if said else "lost")


def backfill(
    live: LiveTranscript,
    told: dict[str, Told],
    alive: dict[str, QueueEntry],
    *,
    known: set[str],
    after_seq: int,
) -> None:
    """Take up what others asked while nobody here was joined, behind the clear and prune mark."""
    for request_id, said in told.items():
        own = request_id in known or request_id in live.requests
        old = said.first_seq <= after_seq or said.at_ms <= live.backfill_after_ms
        agent = request_id.startswith("agent-")
        if own or old or (said.text is None and not agent):
            continue
        request = LiveRequest(
            live.conversation_key,
            request_id,
            text=said.text or "",
            origin=Origin.AGENT if agent else Origin.REMOTE,
            state=RequestState.FINAL if agent else RequestState.SENT,
        )
        request.upstream_at_ms = said.at_ms
        live.requests[request_id] = request
        _rebuild(request, said)
        if said.complete:
            request.signal(*_ending(request))
        elif request_id in alive:
            _requeue(request, alive[request_id])
        else:
            request.signal(Signal.INTERRUPTED, "agent_restart")


def _rebuild(request: LiveRequest, said: Told) -> None:
    """Show exactly what the log has: the same rules over the same events give the same bubbles."""
    scratch = LiveRequest(
        request.conversation_key, request.request_id, state=RequestState.RUNNING, stored=True
    )
    for event in said.events:
        if not isinstance(event, CommandComplete):
            change(scratch, event)
    request.replace_thread(scratch.thread)
    request.upstream_at_ms = max(request.upstream_at_ms or 0, said.at_ms)
    request.unsaved = True


def _requeue(request: LiveRequest, entry: QueueEntry) -> None:
    request.signal(Signal.STARTED if entry.state == "running" else Signal.ACCEPTED)


def _ending(request: LiveRequest) -> tuple[Signal, str]:
    """The log keeps no error; but failing means having shown an error last (WIRE.md 6, 8)."""
    segments = [part for bubble in request.thread.bubbles for part in bubble.segments]
    if any(segment.kind == "error" for segment in segments):
        return Signal.FAILED, "Not completed"
    return Signal.COMPLETED, ""
