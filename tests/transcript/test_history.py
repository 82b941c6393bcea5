"""What the agent-server's log and queue say after a join, merged into memory."""

from __future__ import annotations

import pytest

from chat.agentserver.events import Event, InteractionResolved
from chat.models import RequestState
from chat.transcript import history
from chat.transcript.effects import NOT_COMPLETED
from chat.transcript.live import LiveTranscript
from tests.transcript.joins import AT, account, take_in
from tests.transcript.told import (
    append,
    asked,
    cancelled,
    complete,
    display,
    drawn,
    entry,
    info,
    question,
    queued,
    row,
    started,
    tell,
    transcript,
    words,
)

SHORT = (asked("r", "q"), append("r", "text", "block"), complete("r"))


def state(live: LiveTranscript, key: str) -> str:
    return live.requests[key].state


def test_what_completed_between_the_join_and_the_log_is_final() -> None:
    live = take_in(transcript(row("r", state=RequestState.RUNNING)), account(*SHORT))
    assert state(live, "r") == RequestState.FINAL
    assert words(live.requests["r"]) == ["text"]


def test_what_the_queue_has_goes_on() -> None:
    rows = [row("r", seq=1), row("s", seq=2)]
    told = account(asked("r", "q"), alive=[entry("r", running=True), entry("s")])
    live = take_in(transcript(*rows), told)
    assert (state(live, "r"), state(live, "s")) == ("running", "sent")


def test_what_was_never_handed_in_stays_to_be_sent() -> None:
    assert state(take_in(transcript(row("r")), account()), "r") == RequestState.PENDING


def test_what_was_handed_in_and_is_in_the_log_is_not_sent_again() -> None:
    live = take_in(transcript(row("r")), account(*SHORT))
    assert state(live, "r") == RequestState.FINAL


def test_c11_what_was_begun_and_is_nowhere_was_cut_off_by_a_restart() -> None:
    told = account(asked("r", "q"), append("r", "half an ans"))
    live = take_in(transcript(row("r", state=RequestState.RUNNING)), told)
    assert state(live, "r") == RequestState.INTERRUPTED
    assert words(live.requests["r"]) == ["half an ans"]
    assert live.requests["r"].reason == "agent_restart"


def test_what_waited_and_is_nowhere_is_lost() -> None:
    live = take_in(transcript(row("r", state=RequestState.SENT)), account())
    assert (state(live, "r"), live.requests["r"].reason) == ("interrupted", "lost")


@pytest.mark.parametrize(
    ("goes_on", "upstream_at_ms", "told", "state_and_reason"),
    [
        (True, AT + 5, [asked("q", "q")], ("cancelled", "away")),
        (False, AT + 5, [asked("q", "q")], ("interrupted", "lost")),
        (True, AT, [asked("q", "q")], ("interrupted", "lost")),  # the log may have been cleared
        (True, None, [asked("q", "q")], ("interrupted", "lost")),
        (True, AT + 5, [asked("r", "q")], ("interrupted", "agent_restart")),
    ],
)
def test_c44_what_waited_and_never_began_was_cancelled_while_nobody_here_was_joined(
    *,
    goes_on: bool,
    upstream_at_ms: int | None,
    told: list[Event],
    state_and_reason: tuple[str, str],
) -> None:
    waited = row("r", state=RequestState.SENT, upstream_at_ms=upstream_at_ms)
    live = take_in(transcript(waited), account(*told, goes_on=goes_on))
    assert (state(live, "r"), live.requests["r"].reason) == state_and_reason


def test_c07_a_request_rebuilt_from_the_log_is_as_it_streamed() -> None:
    events = (
        asked("r", "q"),
        info("r", "list", "list", "add"),
        append("r", "one ", source="list"),
        append("r", "two", source="list"),
        append("r", {"type": "markdown", "content": "**three**"}, "block", source="list"),
        append("r", "a step", "step", source="reasoning"),
        question("i", "r"),
        append("r", "four", source="list"),
    )
    streamed = tell(transcript(row("r", "q")), started("r"), *events)
    told = account(*events, alive=[entry("r", running=True)])
    rebuilt = take_in(transcript(row("r", "q", state=RequestState.RUNNING)), told)
    twice = take_in(tell(transcript(row("r", "q")), started("r"), *events), told)
    rows = streamed.requests["r"].thread.to_rows()
    assert rebuilt.requests["r"].thread.to_rows() == rows
    assert twice.requests["r"].thread.to_rows() == rows
    assert twice.requests["r"].state == streamed.requests["r"].state
    html = [bubble.html for bubble in drawn(streamed.requests["r"]).bubbles if bubble.step]
    assert [b.html for b in drawn(twice.requests["r"]).bubbles if b.step] == html


def test_a_failure_is_known_by_its_error() -> None:
    error = {"type": "text", "content": "ERROR: no", "kind": "error"}
    told = account(asked("r", "q"), append("r", error, "block"), complete("r"))
    live = take_in(transcript(row("r", state=RequestState.RUNNING)), told)
    assert (state(live, "r"), live.requests["r"].reason) == ("failed", NOT_COMPLETED)


def test_the_end_that_came_live_says_more_than_the_log() -> None:
    since = [append("r", "text", "block"), complete("r", cancelled=True)]
    told = account(*SHORT, since=since, logged=2)
    live = take_in(transcript(row("r", state=RequestState.RUNNING)), told)
    assert state(live, "r") == RequestState.CANCELLED


def test_a_cancel_that_came_live_beats_the_completion_in_the_log() -> None:
    told = account(*SHORT, since=[cancelled("r"), complete("r")], logged=2)
    live = take_in(transcript(row("r", state=RequestState.RUNNING)), told)
    assert state(live, "r") == RequestState.CANCELLED
    assert words(live.requests["r"]) == ["text"]


def test_an_end_behind_the_log_waits_for_its_turn() -> None:
    told = account(asked("r", "q"), since=[append("r", "text"), complete("r")], logged=0)
    told.alive["r"] = entry("r", running=True)
    live = take_in(transcript(row("r", state=RequestState.RUNNING)), told)
    assert state(live, "r") == RequestState.RUNNING


def test_a_request_without_its_beginning_is_told_of() -> None:
    told = account(append("r", "late"), append("agent-test-1", "News"), complete("s"))
    assert told.beginless == {"r", "s"}
    live = take_in(transcript(), told)
    assert list(live.requests) == ["agent-test-1"]


def test_open_questions_are_those_that_somebody_waits_for() -> None:
    log = (
        asked("r", "q"),
        question("answered", "r"),
        InteractionResolved(interaction_id="answered"),
        question("open", "r"),
        question("dead", "gone"),
        question("popup"),
        question("popup at join"),
    )
    told = account(
        *log,
        alive=[entry("r", running=True)],
        pending=[question("popup at join"), question("answered")],
        since=[question("popup")],
        logged=1,
    )
    live = transcript(row("r", state=RequestState.RUNNING))
    tell(live, question("before"))
    take_in(live, told)
    assert set(live.interactions) == {"open", "popup", "popup at join"}


def test_where_the_log_cannot_be_read_nothing_is_sent_twice_and_nothing_spins_for_ever() -> None:
    live = transcript(
        row("tried", seq=1),
        row("new", seq=2),
        row("running", seq=3, state=RequestState.RUNNING),
        row("gone", seq=4, state=RequestState.SENT),
    )
    live.requests["tried"].attempted = True
    history.settle_by_queue(live, account(alive=[entry("running", running=True)]))
    got = {key: request.state for key, request in live.requests.items()}
    assert got == {
        "tried": "interrupted",
        "new": "pending",
        "running": "running",
        "gone": "interrupted",
    }


def test_a_snapshot_and_what_came_since_make_the_queue() -> None:
    told = account(alive=[entry("r", running=True)], since=[queued("s"), started("t")])
    assert set(told.alive) == {"r", "s", "t"}


def test_the_log_is_taken_as_it_is_however_odd() -> None:
    odd = account(complete("r"), display("r", None), asked("r", ""), append("r", {"type": 5}))
    live = take_in(transcript(row("r", state=RequestState.RUNNING)), odd)
    assert state(live, "r") == RequestState.FINAL
