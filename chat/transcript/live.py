"""What an owner holds in memory of one conversation, and how events change it.

Pure: no database and no event loop. Events of requests that are unknown here are kept aside
until the caller has looked them up (`strangers`, then `adopt` and `settle_strangers`).
"""

from __future__ import annotations

from collections.abc import Iterable

from chat.agentserver.events import (
    AppendDisplay,
    Event,
    InteractionCancelled,
    InteractionRequested,
    InteractionResolved,
    QueueChanged,
    QueueEntry,
    RequestCancelled,
    RequestQueued,
    RequestStarted,
    SetDisplay,
    UserRequest,
)
from chat.display.words import clean_text
from chat.models import Origin, Request, RequestState
from chat.transcript.effects import cancel, change, is_shown, key_of
from chat.transcript.live_request import LiveRequest
from chat.transcript.reading import StoredRequest
from chat.transcript.requests import Signal

FINISHED_KEPT = 20
"""Finished requests that stay in memory for late output; others are looked up again."""

SYSTEM_KEY = "system"
AGENT_PREFIX = "agent-"
MAX_ID_CHARS = Request._meta.get_field("request_id").max_length or 0
MAX_MS = 253_402_300_799_000  # the end of the year 9999


class LiveTranscript:
    """The requests under way, and the rules that turn events into their changes.

    `backfill_after_ms`: what the agent-server dates at or before this and is unknown here was
    erased, and never comes back (Invariant 7).
    """

    def __init__(self, conversation_key: str, *, backfill_after_ms: int = 0) -> None:
        self.conversation_key = conversation_key
        self.backfill_after_ms = backfill_after_ms
        self.requests: dict[str, LiveRequest] = {}
        self.interactions: dict[str, InteractionRequested] = {}
        self.erased: set[str] = set()
        self._strangers: dict[str, list[Event]] = {}

    @property
    def unfinished(self) -> list[LiveRequest]:
        """In the order in which they were asked."""
        waiting = [live for live in self.requests.values() if not live.finished]
        return sorted(waiting, key=lambda live: live.seq if live.seq is not None else 1 << 62)

    @property
    def running(self) -> bool:
        return any(not live.finished for live in self.requests.values())

    @property
    def strangers(self) -> set[str]:
        """The ids that events named and that nobody has looked up yet."""
        return set(self._strangers)

    def adopt(self, stored: Iterable[StoredRequest]) -> None:
        """Take up requests from their rows; one that is here already keeps what it has."""
        for item in stored:
            request_id = item.request.request_id
            if request_id in self.erased:
                continue
            live = self.requests.get(request_id)
            if live is None:
                live = LiveRequest.from_stored(self.conversation_key, item)
                self.requests[request_id] = live
            live.stop_requested = live.stop_requested or item.request.stop_requested
            live.retried = live.retried or item.request.retried
            for event in self._strangers.pop(request_id, ()):
                self.apply(event)

    def settle_strangers(self, request_ids: set[str]) -> None:
        """They were looked up and are not stored: begin those of others, drop what was erased."""
        for request_id in request_ids:
            events = self._strangers.pop(request_id, [])
            if events and self._begin(request_id, events):
                for event in events:
                    self.apply(event)

    def forget(self, request_ids: set[str]) -> list[LiveRequest]:
        """Drop what was erased; gives those that still run, for the agent-server to stop."""
        self.erased |= request_ids
        for request_id in request_ids:
            self._strangers.pop(request_id, None)
        dropped = [self.requests.pop(rid) for rid in request_ids if rid in self.requests]
        return [live for live in dropped if not live.finished]

    def restart(self) -> None:
        """Another upstream conversation begins: what came from the old one means nothing now."""
        self.interactions.clear()
        self._strangers.clear()

    def trim(self) -> None:
        """Let go of finished requests beyond the newest few that are drawn and saved."""
        done = [
            live
            for live in self.requests.values()
            if live.finished and not live.dirty and not live.dirty_for_save
        ]
        for live in done[: max(0, len(done) - FINISHED_KEPT)]:
            del self.requests[live.request_id]

    def apply(self, event: Event) -> None:
        """Change what the event says. Never raises for anything that can come over the wire."""
        match event:
            case QueueChanged(snapshot=snapshot):
                for entry in snapshot.entries():
                    self._enqueue(RequestQueued(entry=entry), entry)
            case RequestQueued(entry=entry) | RequestStarted(entry=entry):
                self._enqueue(event, entry)
            case RequestCancelled(request_id=request_id):
                self._cancel(event, request_id)
            case InteractionRequested():
                self.interactions[event.interaction_id] = event
                self._apply_output(event)
            case InteractionResolved() | InteractionCancelled():
                self.interactions.pop(event.interaction_id, None)
            case _:
                self._apply_output(event)

    def admits(self, key: str) -> bool:
        """Whether output under this key belongs into the transcript at all."""
        storable = len(key) <= MAX_ID_CHARS and clean_text(key) == key
        return storable and key != SYSTEM_KEY and key not in self.erased

    def _apply_output(self, event: Event) -> None:
        key = key_of(event)
        if not key or not self.admits(key):
            return
        live = self.requests.get(key)
        if live is not None:
            if live.takes_output:
                change(live, event)
        elif is_shown(event):
            self._strangers.setdefault(key, []).append(event)

    def _enqueue(self, event: Event, entry: QueueEntry) -> None:
        if not self.admits(entry.request_id):
            return
        live = self.requests.get(entry.request_id)
        if live is None:
            self._strangers.setdefault(entry.request_id, []).append(event)
            return
        at = sane_ms(entry.started_at_ms or entry.submitted_at_ms)
        if at > (live.upstream_at_ms or 0):
            live.upstream_at_ms, live.unsaved = at, True
        live.signal(Signal.STARTED if entry.state == "running" else Signal.ACCEPTED)

    def _cancel(self, event: RequestCancelled, request_id: str) -> None:
        live = self.requests.get(request_id)
        if live is not None:
            cancel(live, event)
        elif request_id in self._strangers:
            self._strangers[request_id].append(event)

    def _begin(self, request_id: str, events: list[Event]) -> bool:
        """Start a request that another client or an agent made; false if it must not come back."""
        agent = request_id.startswith(AGENT_PREFIX)
        entry = _entry_in(events)
        at = sane_ms((entry.submitted_at_ms or entry.started_at_ms) if entry else None)
        if at and at <= self.backfill_after_ms:
            self.erased.add(request_id)
            return False
        said = next((event.text for event in events if isinstance(event, UserRequest)), None)
        text = said if said is not None else entry.text if entry else None
        speaks = any(isinstance(event, SetDisplay | AppendDisplay) for event in events)
        if not speaks if agent else text is None:
            return False
        self.requests[request_id] = LiveRequest(
            self.conversation_key,
            request_id,
            text="" if agent else text or "",
            origin=Origin.AGENT if agent else Origin.REMOTE,
            state=RequestState.FINAL if agent else RequestState.SENT,
        )
        return True


def sane_ms(value: int | None) -> int:
    """A time in ms as the wire has it; 0 where there is none, or one that no database takes."""
    return value if value is not None and 0 < value <= MAX_MS else 0


def _entry_in(events: list[Event]) -> QueueEntry | None:
    queued = (event.entry for event in events if isinstance(event, RequestQueued | RequestStarted))
    return next(queued, None)
