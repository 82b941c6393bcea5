"""What an owner holds in memory of one conversation, and how events change it.

Pure: no database and no event loop. Events of requests that are unknown here are kept aside
until the caller has looked them up (`take_strangers`, then `adopt` or `forget`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from chat.agentserver.events import (
    ActionTaken,
    AgentMessage,
    AppendDisplay,
    ChoiceRequested,
    CommandComplete,
    DisplayInfo,
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
from chat.display.content import Segment, parse_content
from chat.models import Origin, RequestState
from chat.transcript.live_request import LiveRequest
from chat.transcript.reading import StoredRequest
from chat.transcript.requests import Signal, cancellation, completion
from chat.transcript.thread import AppendMode, ephemeral

FINISHED_KEPT = 20
"""Finished requests that stay in memory for late output; others are looked up again."""

STOPPED = "Stopped"
CHAT_AGENT = "chat"
SYSTEM_KEY = "system"


class LiveTranscript:
    """The requests under way, and the rules that turn events into their changes."""

    def __init__(self, conversation_key: str, *, backfill_after_ms: int = 0) -> None:
        self.conversation_key = conversation_key
        self.backfill_after_ms = backfill_after_ms
        self.requests: dict[str, LiveRequest] = {}
        self.interactions: dict[str, InteractionRequested] = {}
        self._ignored: set[str] = set()
        self._strangers: dict[str, list[Event]] = {}

    @property
    def unfinished(self) -> list[LiveRequest]:
        """In the order in which they were asked."""
        waiting = [live for live in self.requests.values() if not live.finished]
        return sorted(waiting, key=lambda live: live.seq if live.seq is not None else 1 << 62)

    @property
    def running(self) -> bool:
        return any(not live.finished for live in self.requests.values())

    def adopt(self, stored: Iterable[StoredRequest]) -> None:
        """Take up requests from their rows; one that is here already keeps what it has."""
        for item in stored:
            request_id = item.request.request_id
            live = self.requests.get(request_id)
            if live is None:
                live = LiveRequest.from_stored(self.conversation_key, item)
                self.requests[request_id] = live
            live.stop_requested = live.stop_requested or item.request.stop_requested
            live.retried = item.request.retried
            for event in self._strangers.pop(request_id, ()):
                self.apply(event)

    def take_strangers(self) -> set[str]:
        """The ids that events named and that nobody has looked up yet."""
        return set(self._strangers)

    def settle_strangers(self, request_ids: set[str]) -> None:
        """They were looked up and are not stored: begin those of others, drop what was cleared."""
        for request_id in request_ids:
            events = self._strangers.pop(request_id, [])
            if request_id in self._ignored or request_id in self.requests:
                continue
            if self._begin(request_id, events):
                for event in events:
                    self.apply(event)

    def forget(self, request_ids: set[str]) -> list[LiveRequest]:
        """Drop what was cleared; gives those that still run, for the agent-server to stop."""
        self._ignored |= request_ids
        dropped = [self.requests.pop(rid) for rid in request_ids if rid in self.requests]
        return [live for live in dropped if not live.finished]

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
                    self._enqueue(entry, event)
            case RequestQueued(entry=entry) | RequestStarted(entry=entry):
                self._enqueue(entry, event)
            case RequestCancelled(request_id=request_id, reason=reason):
                live = self.requests.get(request_id)
                if live:
                    live.signal(cancellation(reason), STOPPED if reason == "user" else reason)
            case InteractionRequested():
                self.interactions[event.interaction_id] = event
                self._ask(event)
            case InteractionResolved() | InteractionCancelled():
                self.interactions.pop(event.interaction_id, None)
            case _:
                self._apply_output(event)

    def _apply_output(self, event: Event) -> None:
        key = key_of(event)
        if key is None or key == SYSTEM_KEY or key in self._ignored:
            return
        live = self.requests.get(key)
        if live is None:
            self._strangers.setdefault(key, []).append(event)
        elif live.takes_output:
            change(live, event)

    def _enqueue(self, entry: QueueEntry, event: Event) -> None:
        if not entry.request_id or entry.request_id in self._ignored:
            return
        live = self.requests.get(entry.request_id)
        if live is None:
            self._strangers.setdefault(entry.request_id, []).append(event)
            return
        at = entry.started_at_ms or entry.submitted_at_ms
        if at and (live.upstream_at_ms or 0) < at:
            live.upstream_at_ms, live.unsaved = at, True
        live.signal(Signal.STARTED if entry.state == "running" else Signal.ACCEPTED)

    def _begin(self, request_id: str, events: list[Event]) -> bool:
        """Start a request that another client or an agent made; false if it must not come back."""
        if request_id.startswith("agent-"):
            origin, state = Origin.AGENT, RequestState.FINAL
        else:
            origin, state = Origin.REMOTE, RequestState.SENT
        entry = _find_entry(request_id, events)
        at = entry and (entry.started_at_ms or entry.submitted_at_ms)
        if at and at <= self.backfill_after_ms:
            self._ignored.add(request_id)
            return False
        said = next((event.text for event in events if isinstance(event, UserRequest)), None)
        text = said if said is not None else entry.text if entry else None
        if origin == Origin.REMOTE and text is None:
            return False
        self.requests[request_id] = LiveRequest(
            self.conversation_key, request_id, text=text or "", origin=origin, state=state
        )
        return True

    def _ask(self, event: InteractionRequested) -> None:
        """Show a question in its request's bubble."""
        live = self.requests.get(event.ref.key or "") if event.ref else None
        if live is None or live.finished:
            return
        lines = [event.message, *(f"- {choice}" for choice in event.choices)]
        segment = parse_content({"type": "text", "content": lines, "kind": "info"})
        live.touched(live.thread.append(segment, AppendMode.BLOCK, event.source))


def change(live: LiveRequest, event: Event) -> None:
    """Apply one event to the request that it belongs to."""
    match event:
        case UserRequest():
            live.signal(Signal.STARTED)
        case DisplayInfo(source=source, action=action):
            live.signal(Signal.ACCEPTED)
            live.touched(live.thread.set_info(source, action))
            for drawing in live.drawings.values():
                drawing.whole = True
        case SetDisplay(message=message) if not ephemeral(message.kind):
            live.signal(Signal.OUTPUT)
            segment = _content(message)
            live.touched(live.thread.set_display(segment, message.source, message.source_icon))
        case AppendDisplay(message=message, mode=mode) if not ephemeral(message.kind):
            live.signal(Signal.OUTPUT)
            segment = _content(message)
            live.touched(live.thread.append(segment, mode, message.source, message.source_icon))
        case CommandComplete():
            _complete(live, event)
        case ChoiceRequested(message=message):
            lines = [message, *(f"- {choice}" for choice in event.choices)]
            segment = parse_content({"type": "text", "content": lines, "kind": "info"})
            live.touched(live.thread.append(segment, AppendMode.BLOCK, event.source))
        case _:
            return


def _content(message: AgentMessage) -> Segment | None:
    """What a message shows. The chat agent writes markdown and calls it text (WIRE.md 12)."""
    segment = parse_content(message.content)
    if segment and segment.type == "text" and segment.kind is None and message.source == CHAT_AGENT:
        return replace(segment, type="markdown")
    return segment


def _complete(live: LiveRequest, event: CommandComplete) -> None:
    """End a request, with a sentence where it would otherwise end without one."""
    signal = completion(event)
    lasting = any(bubble.lasting for bubble in live.thread.bubbles)
    if signal is Signal.FAILED and not lasting and not live.finished:
        live.fail_with(event.last_error or "The agent could not handle this request.")
    reason = {Signal.CANCELLED: STOPPED, Signal.FAILED: "Not completed"}.get(signal, "")
    live.signal(signal, reason)
    if live.finished:
        live.touched(live.thread.complete())


def key_of(event: Event) -> str | None:
    match event:
        case SetDisplay(message=message) | AppendDisplay(message=message):
            return message.ref.key
        case (
            UserRequest(ref=ref)
            | DisplayInfo(ref=ref)
            | CommandComplete(ref=ref)
            | ChoiceRequested(ref=ref)
            | ActionTaken(ref=ref)
        ):
            return ref.key
        case _:
            return None


def _find_entry(request_id: str, events: list[Event]) -> QueueEntry | None:
    for event in events:
        match event:
            case RequestQueued(entry=entry) | RequestStarted(entry=entry):
                entries: tuple[QueueEntry, ...] = (entry,)
            case QueueChanged(snapshot=snapshot):
                entries = snapshot.entries()
            case _:
                entries = ()
        for entry in entries:
            if entry.request_id == request_id:
                return entry
    return None
