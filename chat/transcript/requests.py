"""How a request lives and ends: a state machine whose terminal states nothing leaves.

Pure rules (DESIGN, Invariants 4-6; CANVAS 11, 91, 95; WIRE.md 6): no I/O and no ORM queries.
"""

from __future__ import annotations

from enum import StrEnum

from chat.agentserver.events import CommandComplete
from chat.models import UNFINISHED, MessageState, RequestState


class Signal(StrEnum):
    """What can happen to a request."""

    ACCEPTED = "accepted"  # the agent-server has it: its answer, or any event that names it
    STARTED = "started"
    OUTPUT = "output"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"  # cut off by a restart, a crash or a shutdown
    REFUSED = "refused"  # the agent-server did not take it


SERVER_STOPPING = "server_stopping"
CANCELLED_AWAY = "away"

_ENDS = {
    Signal.COMPLETED: RequestState.FINAL,
    Signal.FAILED: RequestState.FAILED,
    Signal.CANCELLED: RequestState.CANCELLED,
    Signal.INTERRUPTED: RequestState.INTERRUPTED,
    Signal.REFUSED: RequestState.FAILED,
}

_STATES = {
    RequestState.PENDING: (MessageState.PENDING, MessageState.STREAMING),
    RequestState.SENT: (MessageState.QUEUED, MessageState.STREAMING),
    RequestState.RUNNING: (MessageState.FINAL, MessageState.STREAMING),
    RequestState.FINAL: (MessageState.FINAL, MessageState.FINAL),
    RequestState.CANCELLED: (MessageState.CANCELLED, MessageState.CANCELLED),
    RequestState.INTERRUPTED: (MessageState.FINAL, MessageState.INTERRUPTED),
    RequestState.FAILED: (MessageState.FINAL, MessageState.FAILED),
}

_REASONS = {
    "user": "",
    "timeout": "Cancelled: it took too long",
    "disconnect": "Cancelled: the one who asked has left",
    SERVER_STOPPING: "The agent-server is shutting down",
    "queue_full": "Not sent: too many requests are waiting",
    "no_clients": "Cancelled: nobody was connected",
    CANCELLED_AWAY: "Cancelled while the agent-server could not be reached",
    "server_restart": "Interrupted: the site restarted",
    "agent_restart": "Interrupted: the agent-server restarted",
    "lost": "Interrupted: the agent-server no longer knows of it",
}


def advance(state: RequestState, signal: Signal) -> RequestState:
    """The state after the signal. A terminal state stays (DESIGN, Invariant 5)."""
    if state not in UNFINISHED:
        return state
    if signal in _ENDS:
        return _ENDS[signal]
    if signal is Signal.ACCEPTED:
        # A late answer to the submit does not take a running request back to the queue.
        return RequestState.SENT if state is RequestState.PENDING else state
    return RequestState.RUNNING


def accepts_output(state: RequestState) -> bool:
    """Whether output is shown: what comes after a stop is dropped (DESIGN, Invariant 5)."""
    return state not in (RequestState.CANCELLED, RequestState.INTERRUPTED)


def completion(event: CommandComplete) -> Signal:
    """How a `commandComplete` ends its request: there is no success flag (WIRE.md 6)."""
    if event.cancelled:
        return Signal.CANCELLED
    return Signal.FAILED if event.failed else Signal.COMPLETED


def cancellation(reason: str) -> Signal:
    """How a `requestCancelled` ends its request: a server that stops is no one's wish."""
    return Signal.INTERRUPTED if reason == SERVER_STOPPING else Signal.CANCELLED


def bubble_states(
    state: RequestState, *, answered: bool = True
) -> tuple[MessageState, MessageState]:
    """The states of the user's bubble and of the agent's bubbles.

    A failure shows on the answer. Where nothing was shown in answer (`answered` is `False`), the
    user's bubble carries it, so that the note and Retry have a place.
    """
    user, agent = _STATES[state]
    if not answered and state in (RequestState.INTERRUPTED, RequestState.FAILED):
        return agent, agent
    return user, agent


def reason_text(reason: str) -> str:
    """Why a request ended, in words for the user (CANVAS 95).

    Nothing for `user`, who knows. A reason that is not one of the known ones is an error's own
    text, and is its own words.
    """
    return _REASONS.get(reason, reason)
