"""The display log says what the live events have said, in their order."""

from __future__ import annotations

from typing import Any

import pytest

from chat.agentserver.decode import decode_event
from chat.agentserver.events import (
    AppendDisplay,
    CommandComplete,
    Event,
    FeedbackChanged,
    HideChanged,
    InteractionCancelled,
    InteractionRequested,
    InteractionResolved,
    Json,
    SetDisplay,
)
from chat.agentserver.log import LogEntry, decode_log, is_logged, newest_seq, oldest_seq
from tests.agentserver.test_recordings import lines
from tests.shared import SHARED, requires_shared

NOT_DECODED = FeedbackChanged | HideChanged


def live_and_logged(name: str, number: int) -> tuple[list[Event], list[LogEntry]]:
    """What was live before the history in this line of the recording, and that history."""
    recorded = list(lines(SHARED / "wire" / f"{name}.jsonl"))
    answer = recorded[number]
    channel = answer["frame"]["name"].replace("dispatcher:", "clientio:")
    frames = [
        line["frame"]["message"]
        for line in recorded[:number]
        if line["dir"] == "in"
        and line["conn"] == answer["conn"]
        and line.get("frame", {}).get("name") == channel
    ]
    live = [decode_event("c1", message["name"], message["args"]) for message in frames]
    entries = answer["frame"]["message"]["result"]
    return [event for event in live if event is not None], decode_log("c1", entries)


def says(event: Any) -> tuple[str, Json, Json]:
    """What must be the same in both; a completion is logged without its error."""
    kind = type(event).__name__
    if isinstance(event, SetDisplay | AppendDisplay):
        return kind, event.message.ref.key, (event.message.content, getattr(event, "mode", None))
    if isinstance(event, CommandComplete):
        return kind, event.ref.key, None
    if isinstance(event, InteractionRequested):
        return kind, event.interaction_id, (event.message, event.choices, event.default_id)
    if isinstance(event, InteractionResolved | InteractionCancelled):
        return kind, event.interaction_id, getattr(event, "response", None)
    return kind, event.ref.key, getattr(event, "text", None) or event.source


@requires_shared
@pytest.mark.parametrize(
    ("name", "number"),
    [("08-history-seq-rejoin", 74), ("12-misc-methods", 78), ("15-chat-llm", 227)],
)
def test_a_history_repeats_the_logged_events(name: str, number: int) -> None:
    live, logged = live_and_logged(name, number)
    kept = [event for event in live if is_logged(event) and not isinstance(event, NOT_DECODED)]
    said = [says(event) for event in kept]
    assert [says(entry.event) for entry in logged] == said
    assert [entry.seq for entry in logged] == sorted(entry.seq for entry in logged)
    assert said


def test_what_cannot_be_read_is_left_out() -> None:
    entries = [None, {}, {"type": "notify"}, {"type": "set-display", "seq": 3}, {"seq": "x"}]
    assert decode_log("c1", entries) == []
    assert (oldest_seq(entries), newest_seq(entries)) == (-1, 3)
    assert (oldest_seq([]), newest_seq([])) == (-1, -1)


def test_an_entry_keeps_its_place_and_time() -> None:
    entry = {"type": "append-display", "seq": 7, "timestamp": 1796030927589, "mode": "inline"}
    [logged] = decode_log("c1", [entry | {"message": {"message": "x"}}])
    assert (logged.seq, logged.at_ms) == (7, 1796030927589)
    assert isinstance(logged.event, AppendDisplay)
    assert logged.event.mode == "inline"


@pytest.mark.parametrize(
    ("mode", "kind", "expected"),
    [("block", None, True), ("temporary", None, False), ("block", "toast", False)],
)
def test_what_passes_by_is_not_logged(mode: str, kind: str | None, expected: bool) -> None:
    event = decode_event("c1", "appendDisplay", [{"message": "x", "kind": kind}, mode])
    assert event is not None
    assert is_logged(event) is expected


def test_a_replacing_toast_is_not_logged_either() -> None:
    event = decode_event("c1", "setDisplay", [{"message": "x", "kind": "toast"}])
    assert event is not None
    assert not is_logged(event)


def test_the_notices_of_joins_and_leaves_are_not_logged() -> None:
    notice = {"message": "[A client has left …]", "requestId": {"requestId": "system"}}
    event = decode_event("c1", "appendDisplay", [notice, "block"])
    assert event is not None
    assert not is_logged(event)
