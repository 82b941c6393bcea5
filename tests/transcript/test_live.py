"""How events change what an owner holds in memory of a conversation."""

from __future__ import annotations

import pytest

from chat.agentserver.events import (
    ActionTaken,
    ChoiceRequested,
    Event,
    InteractionCancelled,
    InteractionResolved,
    Notification,
    RequestRef,
    UnknownEvent,
)
from chat.models import Origin, RequestState
from chat.transcript.live import FINISHED_KEPT, MAX_ID_CHARS
from tests.transcript.told import (
    append,
    asked,
    cancelled,
    complete,
    display,
    entry,
    info,
    message,
    question,
    queued,
    row,
    snapshot,
    started,
    tell,
    transcript,
    words,
)


def test_a_request_of_ours_runs_to_its_end() -> None:
    live = transcript(row("r", "hello"))
    request = live.requests["r"]
    states = []
    for event in (queued("r"), started("r"), asked("r", "hello"), append("r", "Hi"), complete("r")):
        tell(live, event)
        states.append(request.state)
    assert states == ["sent", "running", "running", "running", "final"]
    assert words(request) == ["Hi"]
    assert not live.running


def test_output_before_the_answer_to_the_submit_counts_as_accepted() -> None:
    live = tell(transcript(row("r")), append("r", "early"))
    assert live.requests["r"].state == RequestState.RUNNING


def test_c13_the_final_text_replaces_what_streamed() -> None:
    live = tell(transcript(row("r")), append("r", "A"), append("r", "B"), display("r", "AB"))
    assert words(live.requests["r"]) == ["AB"]


def test_a_request_of_another_client_appears_with_its_text() -> None:
    live = tell(transcript(), queued("x", "from elsewhere"))
    request = live.requests["x"]
    assert (request.origin, request.state, request.text) == ("remote", "sent", "from elsewhere")
    assert request.dirty
    assert request.dirty_for_save


def test_a_request_of_another_client_that_is_cancelled_in_the_queue_is_over() -> None:
    live = transcript()
    live.apply(queued("x", "from elsewhere"))
    live.apply(cancelled("x"))  # before anybody has looked it up
    live.settle_strangers({"x"})
    assert live.requests["x"].state == RequestState.CANCELLED


def test_the_output_of_a_stranger_is_kept_in_order_until_it_is_looked_up() -> None:
    live = transcript()
    live.apply(started("x", "q"))
    live.apply(append("x", "one "))
    names = live.strangers
    live.apply(append("x", "two "))  # the look-up is under way
    live.settle_strangers(names)
    live.apply(append("x", "three"))
    assert words(live.requests["x"]) == ["one two three"]
    assert not live.strangers


def test_late_output_of_a_finished_request_goes_to_its_bubble_when_it_is_taken_up_again() -> None:
    live = transcript()
    live.apply(append("old", "chosen", "block"))
    assert live.strangers == {"old"}
    live.adopt([row("old", "q", state=RequestState.FINAL)])
    assert words(live.requests["old"]) == ["chosen"]
    assert live.requests["old"].state == RequestState.FINAL
    assert not live.strangers


def test_late_output_of_a_cancelled_request_is_dropped() -> None:
    live = tell(transcript(row("r")), append("r", "A"), cancelled("r"), append("r", "B"))
    assert words(live.requests["r"]) == ["A"]
    assert live.requests["r"].state == RequestState.CANCELLED


def test_a_late_temporary_of_a_finished_request_is_dropped() -> None:
    live = tell(transcript(row("r")), append("r", "A"), complete("r"))
    tell(live, append("r", "Working", "temporary"))
    assert words(live.requests["r"]) == ["A"]


def test_the_late_output_of_something_pruned_brings_nothing_back() -> None:
    live = tell(transcript(), append("pruned", "late"), complete("pruned"))
    assert not live.requests
    assert not live.strangers


def test_what_an_agent_says_unasked_has_a_bubble_of_its_own() -> None:
    live = tell(transcript(), append("agent-test-1", "News", "block", kind="bubble"))
    request = live.requests["agent-test-1"]
    assert (request.origin, request.state, request.text) == (Origin.AGENT, "final", "")
    assert words(request) == ["News"]


@pytest.mark.parametrize("kind", ["toast", "inline"])
def test_toasts_and_inline_notices_leave_no_trace(kind: str) -> None:
    live = transcript(row("r"))
    tell(live, append("agent-test-1", "News", "block", kind=kind))
    tell(live, append("r", "News", "block", kind=kind))
    assert list(live.requests) == ["r"]
    assert words(live.requests["r"]) == []
    assert live.requests["r"].state == RequestState.PENDING


def test_an_agent_that_only_names_itself_is_not_shown() -> None:
    assert not tell(transcript(), info("agent-test-1", "test")).requests


def test_notices_that_somebody_came_or_left_are_ignored() -> None:
    live = tell(transcript(), append("system", "[A new client has joined.]", "block"))
    assert not live.requests
    assert not live.strangers


@pytest.mark.parametrize("key", ["x" * (MAX_ID_CHARS + 1), "a\x00b", "\ud800"])
def test_c59_an_id_that_no_database_takes_is_ignored(key: str) -> None:
    live = tell(transcript(), queued(key, "text"), append(key, "out"), cancelled(key))
    assert not live.requests
    assert not live.strangers


def test_c59_text_of_others_is_cleaned() -> None:
    live = tell(transcript(), queued("x", "a\x00b\ud800"), cancelled("x", "why\x00" + "y" * 400))
    assert live.requests["x"].text == "ab\ufffd"
    assert live.requests["x"].reason == "why" + "y" * 297


def test_c59_an_error_text_is_cleaned() -> None:
    live = tell(transcript(row("r")), started("r"), complete("r", lastError="bad\x00 \ud800"))
    assert words(live.requests["r"]) == ["bad \ufffd"]
    assert live.requests["r"].state == RequestState.FAILED


@pytest.mark.parametrize(
    "result", [{}, {"disposition": {"status": "notHandled"}}], ids=["no error", "not handled"]
)
def test_a_failure_is_never_without_a_word(result: dict[str, object]) -> None:
    live = tell(transcript(row("r")), started("r"), complete("r", lastError="Broken", **result))
    assert words(live.requests["r"]) == ["Broken"]


def test_a_failure_that_was_shown_is_not_told_again() -> None:
    error = {"type": "text", "content": "ERROR: no", "kind": "error"}
    live = tell(transcript(row("r")), append("r", error, "block"), complete("r", lastError="no"))
    assert words(live.requests["r"]) == ["ERROR: no"]


def test_a_server_that_stops_interrupts() -> None:
    live = tell(transcript(row("r")), started("r"), cancelled("r", "server_stopping"))
    assert live.requests["r"].state == RequestState.INTERRUPTED


def test_erased_requests_do_not_come_back() -> None:
    live = tell(transcript(row("r", "q"), row("s", state=RequestState.FINAL)), started("r"))
    assert [request.request_id for request in live.forget({"r", "s"})] == ["r"]
    tell(live, started("r", "q"), append("r", "late"), complete("r"), snapshot(entry("r", "q")))
    live.adopt([row("r", "q")])
    assert not live.requests


def test_what_was_asked_before_the_clear_mark_does_not_come_back() -> None:
    live = tell(transcript(mark=1000), started("x", "old", at=1000), append("x", "late"))
    assert not live.requests
    tell(live, started("y", "new", at=1001))
    assert list(live.requests) == ["y"]


def test_a_clear_between_waiting_and_running_counts() -> None:
    live = transcript(mark=1000)
    begun = started("x", "old", at=2000)
    live.apply(queued("x", "old", at=900))
    live.apply(begun)
    live.settle_strangers({"x"})
    assert not live.requests


def test_a_snapshot_moves_ours_and_brings_others() -> None:
    live = transcript(row("r", seq=1), row("s", seq=2))
    tell(live, snapshot(entry("r", running=True), entry("s"), entry("x", "other")))
    assert [live.requests[key].state for key in "rsx"] == ["running", "sent", "sent"]


def test_a_snapshot_does_not_wake_the_dead() -> None:
    live = tell(transcript(row("r")), started("r"), complete("r"), snapshot(entry("r")))
    assert live.requests["r"].state == RequestState.FINAL


def test_times_are_kept_unless_no_database_takes_them() -> None:
    live = tell(transcript(row("r")), queued("r", at=5), started("r", at=7), queued("r", at=10**19))
    assert live.requests["r"].upstream_at_ms == 7


def test_unfinished_requests_are_in_the_order_of_asking() -> None:
    live = transcript(row("b", seq=2), row("a", seq=1), row("c", seq=3, state=RequestState.FINAL))
    tell(live, queued("x", "other"))
    assert [request.request_id for request in live.unfinished] == ["a", "b", "x"]


def test_a_question_is_shown_and_open_until_it_is_answered() -> None:
    live = tell(transcript(row("r")), started("r"), question("i", "r"), question("j"))
    assert words(live.requests["r"]) == ["Sure?\n- Yes\n- No"]
    assert set(live.interactions) == {"i", "j"}
    tell(live, InteractionResolved(interaction_id="i"), InteractionCancelled(interaction_id="j"))
    assert not live.interactions


def test_a_choice_is_shown() -> None:
    event = ChoiceRequested(
        ref=RequestRef(request_id="r"), choice_id="c", message="Which?", choices=("A", "B")
    )
    live = tell(transcript(row("r")), started("r"), event)
    assert words(live.requests["r"]) == ["Which?\n- A\n- B"]


@pytest.mark.parametrize(
    "event",
    [
        Notification(name="explained"),
        UnknownEvent(name="zzz"),
        ActionTaken(ref=RequestRef(request_id="r"), action="open"),
        append("", "nobody's"),
    ],
)
def test_what_has_no_place_changes_nothing(event: Event) -> None:
    live = tell(transcript(row("r", state=RequestState.FINAL)), event)
    assert list(live.requests) == ["r"]
    assert words(live.requests["r"]) == []


def test_memory_is_bounded() -> None:
    live = transcript()
    for number in range(100):
        tell(live, started(f"x{number}", "q"), append(f"x{number}", "a"), complete(f"x{number}"))
    running = "x0"
    live.trim()
    assert len(live.requests) == 100  # none of it is saved yet
    for request in live.requests.values():
        request.to_draw.clear()
        request.take_rows()
    live.trim()
    assert list(live.requests) == [f"x{n}" for n in range(100 - FINISHED_KEPT, 100)]
    assert running not in live.requests


def test_retried_stays_retried() -> None:
    live = transcript(row("r"))
    live.requests["r"].retried = True
    live.adopt([row("r")])
    assert live.requests["r"].retried


def test_a_stop_that_was_asked_is_taken_over() -> None:
    live = transcript(row("r"))
    again = row("r")
    again.request.stop_requested = True
    live.adopt([again])
    assert live.requests["r"].stop_requested


def test_the_bubble_is_named_after_who_speaks() -> None:
    live = tell(transcript(row("r")), info("r", "list", "list", "addItems"), append("r", "Done"))
    assert live.requests["r"].thread.bubbles[0].label == "list.addItems"
    assert message("r", "x").ref.key == "r"
