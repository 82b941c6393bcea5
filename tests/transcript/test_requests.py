"""A request moves forward only, and once it has ended it stays ended."""

from __future__ import annotations

from itertools import product

import pytest

from chat.agentserver.events import CommandComplete, Json, RequestRef
from chat.models import UNFINISHED, MessageState, RequestState
from chat.transcript.requests import (
    Signal,
    accepts_output,
    advance,
    bubble_states,
    cancellation,
    completion,
    reason_text,
)

TERMINAL = [state for state in RequestState if state not in UNFINISHED]
ENDS = {
    Signal.COMPLETED: RequestState.FINAL,
    Signal.FAILED: RequestState.FAILED,
    Signal.CANCELLED: RequestState.CANCELLED,
    Signal.INTERRUPTED: RequestState.INTERRUPTED,
    Signal.REFUSED: RequestState.FAILED,
}


def complete(result: dict[str, Json] | None) -> Signal:
    return completion(CommandComplete(ref=RequestRef("r"), result=result))


def test_the_usual_way() -> None:
    state = RequestState.PENDING
    seen = []
    for signal in (Signal.ACCEPTED, Signal.STARTED, Signal.OUTPUT, Signal.COMPLETED):
        state = advance(state, signal)
        seen.append(state)
    assert seen == [
        RequestState.SENT,
        RequestState.RUNNING,
        RequestState.RUNNING,
        RequestState.FINAL,
    ]


@pytest.mark.parametrize(("state", "signal"), list(product(TERMINAL, Signal)))
def test_a_terminal_state_is_final(state: RequestState, signal: Signal) -> None:
    assert advance(state, signal) is state


@pytest.mark.parametrize(("state", "signal"), list(product(UNFINISHED, ENDS)))
def test_every_unfinished_request_can_end(state: RequestState, signal: Signal) -> None:
    """Also before the answer to the submit: its end may arrive first."""
    assert advance(state, signal) is ENDS[signal]


@pytest.mark.parametrize("state", [RequestState.PENDING, RequestState.SENT])
@pytest.mark.parametrize("signal", [Signal.STARTED, Signal.OUTPUT])
def test_output_before_the_answer_to_the_submit_means_it_runs(
    state: RequestState, signal: Signal
) -> None:
    assert advance(state, signal) is RequestState.RUNNING


@pytest.mark.parametrize("state", [RequestState.SENT, RequestState.RUNNING])
def test_a_late_answer_to_the_submit_takes_nothing_back(state: RequestState) -> None:
    assert advance(state, Signal.ACCEPTED) is state


@pytest.mark.parametrize("state", list(RequestState))
def test_output_is_dropped_only_after_a_stop_or_an_interruption(state: RequestState) -> None:
    dropped = state in (RequestState.CANCELLED, RequestState.INTERRUPTED)
    assert accepts_output(state) is not dropped


@pytest.mark.parametrize(
    ("result", "signal"),
    [
        (None, Signal.COMPLETED),
        ({}, Signal.COMPLETED),
        ({"disposition": {"status": "handled", "path": "action"}}, Signal.COMPLETED),
        ({"lastError": "boom"}, Signal.FAILED),
        ({"lastError": ""}, Signal.FAILED),
        ({"disposition": {"status": "failed"}}, Signal.FAILED),
        ({"disposition": {"status": "notHandled", "reason": "unknown"}}, Signal.FAILED),
        ({"disposition": "odd"}, Signal.COMPLETED),
        ({"cancelled": True}, Signal.CANCELLED),
        ({"cancelled": True, "lastError": "aborted"}, Signal.CANCELLED),
        ({"cancelled": False, "lastError": "boom"}, Signal.FAILED),
    ],
)
def test_how_a_command_ended_is_read_from_its_result(
    result: dict[str, Json] | None, signal: Signal
) -> None:
    assert complete(result) is signal


@pytest.mark.parametrize("reason", ["user", "timeout", "disconnect", "no_clients", "", "new"])
def test_a_cancelled_request_is_cancelled(reason: str) -> None:
    assert cancellation(reason) is Signal.CANCELLED


def test_a_server_that_stops_interrupts() -> None:
    assert cancellation("server_stopping") is Signal.INTERRUPTED


@pytest.mark.parametrize(
    ("state", "user", "agent"),
    [
        ("pending", "pending", "streaming"),
        ("sent", "queued", "streaming"),
        ("running", "final", "streaming"),
        ("final", "final", "final"),
        ("cancelled", "cancelled", "cancelled"),
        ("interrupted", "final", "interrupted"),
        ("failed", "final", "failed"),
    ],
)
def test_the_bubbles_show_the_state_of_their_request(state: str, user: str, agent: str) -> None:
    assert bubble_states(RequestState(state)) == (MessageState(user), MessageState(agent))


@pytest.mark.parametrize("state", list(RequestState))
def test_without_an_answer_the_question_says_how_it_ended(state: RequestState) -> None:
    user, _ = bubble_states(state, answered=False)
    if state in TERMINAL:
        assert user.value == state.value
    else:
        assert user is bubble_states(state)[0]


@pytest.mark.parametrize("state", TERMINAL)
def test_nothing_streams_once_the_request_has_ended(state: RequestState) -> None:
    assert MessageState.STREAMING not in bubble_states(state)


@pytest.mark.parametrize(
    "reason",
    [
        "timeout",
        "disconnect",
        "server_stopping",
        "queue_full",
        "no_clients",
        "server_restart",
        "agent_restart",
        "lost",
    ],
)
def test_a_reason_is_told_in_words(reason: str) -> None:
    text = reason_text(reason)
    assert text
    assert "_" not in text
    assert text != reason


def test_who_stopped_it_needs_no_reason() -> None:
    assert reason_text("user") == ""


def test_a_restart_of_the_site_is_told_as_such() -> None:
    assert reason_text("server_restart") == "Interrupted: the site restarted"


def test_an_error_is_its_own_reason() -> None:
    assert reason_text("No such command: @nope") == "No such command: @nope"
