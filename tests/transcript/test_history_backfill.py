"""Which requests of others a log brings in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chat.models import RequestState
from chat.transcript import history
from chat.transcript.live import LiveTranscript
from tests.transcript.joins import AT, account, take_in
from tests.transcript.told import (
    append,
    asked,
    complete,
    entry,
    info,
    row,
    transcript,
)


def state(live: LiveTranscript, key: str) -> str:
    return live.requests[key].state


def test_requests_of_others_are_taken_up() -> None:
    log = (
        asked("x", "theirs"),
        append("x", "done", "block"),
        complete("x"),
        asked("y", "running"),
        asked("z", "cut off"),
        append("agent-test-1", "News", "block"),
    )
    live = take_in(
        transcript(), account(*log, alive=[entry("y", running=True), entry("w", "next")])
    )
    live.settle_strangers(live.strangers)
    got = {key: (request.origin, request.state) for key, request in live.requests.items()}
    assert got == {
        "x": ("remote", "final"),
        "y": ("remote", "running"),
        "z": ("remote", "interrupted"),
        "agent-test-1": ("agent", "final"),
        "w": ("remote", "sent"),
    }
    assert [live.requests[key].text for key in "xyzw"] == ["theirs", "running", "cut off", "next"]


def test_what_is_known_or_was_merged_before_is_not_taken_up_again() -> None:
    told = account(asked("x", "a"), complete("x"), asked("y", "b"), complete("y"))
    live = take_in(transcript(row("y", state=RequestState.FINAL)), told, after_seq=1)
    assert list(live.requests) == ["y"]
    assert not live.requests["y"].dirty
    assert not take_in(transcript(), told, known={"x", "y"}).requests


def test_c64_erased_requests_are_not_taken_up() -> None:
    live = transcript(row("x"))
    live.forget({"x"})
    assert not take_in(live, account(asked("x", "a"), complete("x"))).requests


@pytest.mark.parametrize(("mark", "comes"), [(AT, False), (AT - 999, False), (AT - 1_000, False)])
def test_what_was_cleared_or_pruned_does_not_come_back(mark: int, comes: bool) -> None:
    """The log dates a request a little later than the queue, whose time the mark is."""
    told = account(asked("x", "a"), complete("x"))
    assert bool(take_in(transcript(mark=mark), told).requests) is comes


def test_what_came_after_the_mark_does() -> None:
    told = account(asked("x", "a"), complete("x"))
    assert take_in(transcript(mark=AT - 1_001), told).requests


def test_what_was_cleared_while_it_waited_does_not_come_back() -> None:
    told = account(asked("x", "a"), alive=[entry("x", "a", at=AT - 5_000, running=True)])
    live = take_in(transcript(mark=AT - 5_000), told)
    live.settle_strangers(live.strangers)
    assert not live.requests


def test_only_the_newest_and_none_too_old_are_taken_up() -> None:
    log = [event for n in range(10) for event in (asked(f"x{n}", "q"), complete(f"x{n}"))]
    assert list(take_in(transcript(), account(*log), limit=3).requests) == ["x7", "x8", "x9"]
    assert list(take_in(transcript(), account(*log), oldest_ms=AT + 16).requests) == ["x8", "x9"]


def test_what_is_taken_up_has_its_own_time_but_none_in_the_future() -> None:
    live = take_in(transcript(), account(asked("x", "q"), append("x", "a", "block")))
    request = live.requests["x"]
    assert request.created_at == datetime.fromtimestamp(AT / 1000, UTC)
    assert request.drawings[1].created_at == request.created_at
    future = history.account_of([(0, 10**14, asked("y", "q"))], None, [], since=[], logged=0)
    late = take_in(transcript(), future).requests["y"]
    assert late.created_at < datetime.fromtimestamp(10**11, UTC)


def test_nothing_is_made_of_toasts_and_notices() -> None:
    log = (
        append("agent-test-1", "Ding", "block", kind="toast"),
        append("system", "[A client has left this conversation.]", "block"),
        info("agent-test-2", "test"),
    )
    assert not take_in(transcript(), account(*log)).requests
