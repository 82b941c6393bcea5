"""What the agent-server's log and queue say after a (re)join, merged into memory.

Pure. Requests are matched by id; nothing is sent twice, doubled or brought back
(DESIGN: The link's life, Invariants 5-7).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.utils.timezone import now

from chat.agentserver.events import (
    AppendDisplay,
    CommandComplete,
    Event,
    InteractionCancelled,
    InteractionRequested,
    InteractionResolved,
    QueueEntry,
    QueueSnapshot,
    RequestCancelled,
    RequestQueued,
    RequestStarted,
    SetDisplay,
    UserRequest,
)
from chat.models import Origin, RequestState
from chat.transcript.effects import NOT_COMPLETED, cancel, change, is_shown, key_of
from chat.transcript.live import AGENT_PREFIX, LiveTranscript, sane_ms
from chat.transcript.live_request import LiveRequest
from chat.transcript.requests import CANCELLED_AWAY, Signal

LOG_LAG_MS = 1_000
"""How much later than the queue the log may date the beginning of a request."""


@dataclass(slots=True)
class Told:
    """All that the log says of one request, and how the queue has it."""

    first_seq: int
    at_ms: int
    events: list[Event] = field(default_factory=list)
    entry: QueueEntry | None = None

    @property
    def text(self) -> str | None:
        asked = (event.text for event in self.events if isinstance(event, UserRequest))
        return next(asked, None)

    @property
    def complete(self) -> bool:
        return any(isinstance(event, CommandComplete) for event in self.events)

    @property
    def asked_at_ms(self) -> int:
        """At the latest when it was asked, by the clock that clear and prune marks go by."""
        submitted = sane_ms(self.entry.submitted_at_ms if self.entry else None)
        return submitted or self.at_ms - LOG_LAG_MS


@dataclass(slots=True)
class Account:
    """What the agent-server says of a conversation: its log, its queue, and how requests ended
    whose end came live, which tells more of it than the log does.
    """

    told: dict[str, Told]
    alive: dict[str, QueueEntry]
    ends: dict[str, Event]
    questions: dict[str, InteractionRequested]
    goes_on: bool = False
    """It was loaded all the time: what it had in memory before is there, if it is not over."""
    merged: set[str] = field(default_factory=set)
    """The requests that show all that the log has of them."""

    def never_began(self, request: LiveRequest) -> bool:
        """Whether it waited, and the log, which goes back to before that, has nothing of it."""
        asked = request.upstream_at_ms or 0
        waited = request.state == RequestState.SENT and request.request_id not in self.told
        return waited and any(said.at_ms < asked for said in self.told.values())

    @property
    def beginless(self) -> set[str]:
        """Requests whose beginning is not in the part of the log that was read."""
        return {
            request_id
            for request_id, said in self.told.items()
            if said.text is None and not request_id.startswith(AGENT_PREFIX)
        }


def account_of(
    log: Iterable[tuple[int, int, Event]],
    snapshot: QueueSnapshot | None,
    pending: Iterable[InteractionRequested],
    *,
    since: list[Event],
    logged: int,
    goes_on: bool = False,
) -> Account:
    """Put together the log (seq, time in ms, event), the queue and the open questions at the
    join, and the live events since; the log has what the first `logged` of those told.
    """
    log = list(log)
    told = _group(log)
    alive = {entry.request_id: entry for entry in snapshot.entries()} if snapshot else {}
    for event in since:
        if isinstance(event, RequestQueued | RequestStarted):
            alive[event.entry.request_id] = event.entry
    for request_id, entry in alive.items():
        if request_id in told:
            told[request_id].entry = entry
    ends: dict[str, Event] = {}
    for event in since[:logged]:
        if isinstance(event, RequestCancelled):
            ends.setdefault(event.request_id, event)
        elif isinstance(event, CommandComplete) and event.ref.key:
            ends.setdefault(event.ref.key, event)
    questions = _open_questions([event for _, _, event in log], alive)
    at_join = {question.interaction_id: question for question in pending}
    live = _open_questions(since[:logged], None)
    answered = _answered([*(event for _, _, event in log), *since[:logged]])
    questions |= {key: q for key, q in (at_join | live).items() if key not in answered}
    return Account(told, alive, ends, questions, goes_on)


def settle(live: LiveTranscript, account: Account) -> None:
    """Bring every unfinished request to where the agent-server has it.

    A request that is in neither log nor queue and that the agent-server was never known to have
    stays `pending`: the outbox submits it. One that it had and lost was interrupted.
    """
    live.restart()
    live.interactions.update(account.questions)
    for request in live.unfinished:
        request_id = request.request_id
        said = account.told.get(request_id)
        if said is not None and said.text is not None:  # from its beginning, so all of it
            _rebuild(request, said)
            account.merged.add(request_id)
        if said is not None or request_id in account.alive or request.state != RequestState.PENDING:
            _place(request, account, "agent_restart" if said else "lost")


def settle_by_queue(live: LiveTranscript, account: Account) -> None:
    """The same where the log cannot be read. What may have been handed in and is not in the
    queue is given up: whether it was answered nobody can tell, and it must not be sent twice.
    """
    live.restart()
    live.interactions.update(account.questions)
    for request in live.unfinished:
        handed_in = request.attempted or request.state != RequestState.PENDING
        if handed_in or request.request_id in account.alive:
            _place(request, account, "lost")


def unknown(
    live: LiveTranscript, account: Account, *, after_seq: int, oldest_ms: int, limit: int
) -> list[str]:
    """The newest requests that others may have asked while nobody here was joined: behind the
    clear and prune mark, and none from before `oldest_ms`.
    """
    fresh = [
        request_id
        for request_id, said in account.told.items()
        if said.first_seq > after_seq and _is_new(live, request_id, said, oldest_ms)
    ]
    return fresh[-limit:]


def backfill(live: LiveTranscript, account: Account, request_ids: Iterable[str]) -> None:
    """Take up these requests from the log, and whatever waits in the queue."""
    for request_id in request_ids:
        said, agent = account.told[request_id], request_id.startswith(AGENT_PREFIX)
        request = LiveRequest(
            live.conversation_key,
            request_id,
            text=said.text or "",
            origin=Origin.AGENT if agent else Origin.REMOTE,
            state=RequestState.FINAL if agent else RequestState.SENT,
            created_at=_time(said.at_ms),
        )
        live.requests[request_id] = request
        _rebuild(request, said)
        account.merged.add(request_id)
        for drawing in request.drawings.values():
            drawing.created_at = request.created_at
        _place(request, account, "agent_restart")
    for entry in account.alive.values():  # what waits has no place in the log yet
        if entry.request_id not in live.requests:
            live.apply(RequestQueued(entry=entry))


def _is_new(live: LiveTranscript, request_id: str, said: Told, oldest_ms: int) -> bool:
    if not live.admits(request_id) or request_id in live.requests:
        return False
    agent = request_id.startswith(AGENT_PREFIX)
    has_begun = any(map(_speaks, said.events)) if agent else said.text is not None
    return has_begun and said.asked_at_ms > live.backfill_after_ms and said.at_ms >= oldest_ms


def _group(log: Iterable[tuple[int, int, Event]]) -> dict[str, Told]:
    """The log request by request, in the order of their beginnings."""
    told: dict[str, Told] = {}
    for seq, at_ms, event in log:
        key = key_of(event)
        if key and is_shown(event):
            told.setdefault(key, Told(seq, sane_ms(at_ms))).events.append(event)
    return told


def _open_questions(
    events: list[Event], alive: dict[str, QueueEntry] | None
) -> dict[str, InteractionRequested]:
    """The unanswered ones; given `alive`, only those whose request waits for the answer.

    A question from before a restart looks open in the log, and is dead (WIRE.md 8).
    """
    answered = _answered(events)
    return {
        event.interaction_id: event
        for event in events
        if isinstance(event, InteractionRequested)
        and event.interaction_id not in answered
        and (alive is None or (event.ref is not None and event.ref.key in alive))
    }


def _answered(events: Iterable[Event]) -> set[str]:
    over = InteractionResolved | InteractionCancelled
    return {event.interaction_id for event in events if isinstance(event, over)}


def _rebuild(request: LiveRequest, said: Told) -> None:
    """Show exactly what the log has: the same rules over the same events give the same bubbles."""
    scratch = LiveRequest(request.conversation_key, request.request_id, state=RequestState.RUNNING)
    for event in said.events:
        if not isinstance(event, CommandComplete):
            change(scratch, event)
    request.replace_thread(scratch.thread)
    request.upstream_at_ms = max(request.upstream_at_ms or 0, said.at_ms)
    request.unsaved = True


def _place(request: LiveRequest, account: Account, lost: str) -> None:
    """Move the request to where the agent-server has it; `lost` says why if it is nowhere."""
    said = account.told.get(request.request_id)
    entry = account.alive.get(request.request_id)
    end = account.ends.get(request.request_id)
    if isinstance(end, RequestCancelled):
        cancel(request, end)
    elif end is not None:
        change(request, end)
    elif said is not None and said.complete:
        request.signal(*_ending(request))
    elif entry is not None:
        request.signal(Signal.STARTED if entry.state == "running" else Signal.ACCEPTED)
    elif account.goes_on and account.never_began(request):
        request.signal(Signal.CANCELLED, CANCELLED_AWAY)
    else:
        request.signal(Signal.INTERRUPTED, lost)


def _ending(request: LiveRequest) -> tuple[Signal, str]:
    """The log keeps no error; but failing means having shown an error last (WIRE.md 6, 8)."""
    segments = [part for bubble in request.thread.bubbles for part in bubble.segments]
    if any(segment.kind == "error" for segment in segments):
        return Signal.FAILED, NOT_COMPLETED
    return Signal.COMPLETED, ""


def _speaks(event: Event) -> bool:
    return isinstance(event, SetDisplay | AppendDisplay)


def _time(at_ms: int) -> datetime:
    """A time in the future counts as now (DESIGN: Retention)."""
    present = now()
    return min(datetime.fromtimestamp(at_ms / 1000, UTC), present) if at_ms else present
