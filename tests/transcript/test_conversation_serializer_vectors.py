"""The original client's cases of what is kept and how it comes back, one test each."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from django.utils.timezone import now

from chat.display.content import Segment
from chat.models import Message, Role
from chat.transcript import retention
from chat.transcript.thread import Bubble, Thread
from tests.transcript.make import conversation, message, request
from tests.transcript.vectors import Case, params, table

CASES = table("conversation_serializer")
LATER = {
    "no_conversation_id": "a message always has its conversation: the column is not null",
    "unknown_version": "migrations change the stored form: there is no version to be unknown",
    "legacy_no_timestamp": "a message always has its time: the column is not null",
}


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def kept(messages: list[dict[str, Any]], read_at: datetime) -> list[str]:
    """The texts that the rule keeps of messages that stand in this order."""
    rows = [
        retention.Row(pk, pk, 0, at(given["timestamp"]) if "timestamp" in given else read_at)
        for pk, given in enumerate(messages)
    ]
    gone = retention.to_prune(rows, now=read_at, **retention.limits())
    return [
        given["segments"][0]["text"] for pk, given in enumerate(messages) if pk not in set(gone)
    ]


@pytest.mark.parametrize(
    "case", params({name: case for name, case in CASES.items() if name in LATER}, LATER)
)
def test_it_does_not_arise(case: Case) -> None:
    raise AssertionError(f"{case['id']} is to be skipped")


def test_limits() -> None:
    expect = CASES["limits"]["expect"]
    limits = retention.limits()
    assert limits["max_messages"] == expect["maxPersistedMessages"]
    assert limits["max_age"] == timedelta(milliseconds=expect["maxMessageAgeMillis"])


def test_round_trip() -> None:
    given = CASES["round_trip"]["input"]["steps"][0]["conversation"]["messages"][1]
    expect = CASES["round_trip"]["expect"]["messages"][1]
    before = Thread()
    for part in given["segments"]:
        kind = None if part["kind"] == "NONE" else part["kind"].lower()
        sort: Literal["markdown", "text"] = "markdown" if part["format"] == "MARKDOWN" else "text"
        before.append(Segment(sort, part["text"], kind), "block")
    after = Thread.from_rows(json.loads(json.dumps(before.to_rows())), completed=True)
    segments = after.bubbles[0].segments
    assert [(part.kind or "none").upper() for part in segments] == expect["segmentKinds"]
    assert segments[1].type.upper() == expect["format"]
    assert segments[1].text == expect["segment1Text"]


def test_restored_sealed() -> None:
    before = Thread()
    before.append(Segment("text", "streaming..."), "inline")
    assert not before.bubbles[0].sealed
    after = Thread.from_rows(before.to_rows(), completed=True)
    assert [bubble.sealed for bubble in after.bubbles] == [True]


def test_message_cap() -> None:
    expect = CASES["message_cap"]["expect"]
    count = CASES["message_cap"]["input"]["steps"][0]["conversation"]["messages"]["$generate"]
    messages = [
        {"segments": [{"text": f"message {number}"}]} for number in range(1, count["count"] + 1)
    ]
    texts = kept(messages, now())
    assert (len(texts), texts[0], texts[-1]) == (
        expect["count"],
        expect["first"],
        expect["last"],
    )


def test_no_segments() -> None:
    """A bubble with nothing to show is not dropped, for its place is kept, but hidden."""
    assert CASES["no_segments"]["expect"] == {"messages": []}
    assert Bubble(step=1).empty


def test_empty() -> None:
    assert CASES["empty"]["expect"]["messages"] == []
    assert Thread.from_rows([], completed=True).bubbles == []
    assert kept([], now()) == []


def test_age_on_write() -> None:
    given = CASES["age_on_write"]["input"]
    messages = given["steps"][0]["conversation"]["messages"]
    assert kept(messages, at(given["now"])) == CASES["age_on_write"]["expect"]["texts"]


@pytest.mark.parametrize("name", ["age_on_read_fresh", "age_on_read_stale", "clock_backwards"])
def test_age_on_read(name: str) -> None:
    given = CASES[name]["input"]
    texts = kept(given["messages"], at(given.get("readAt") or given["now"]))
    assert len(texts) == CASES[name]["expect"]["count"]


@pytest.mark.django_db
def test_timestamps_survive() -> None:
    timestamp = CASES["timestamps_survive"]["expect"]["timestamp"]
    stored = message(request(conversation()), at=at(timestamp))
    retention.prune_conversation(
        stored.conversation_id, **retention.limits(), now=at(timestamp + 1000)
    )
    assert Message.objects.get(pk=stored.pk).created_at == at(timestamp)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["drop_reported", "nothing_dropped"])
def test_what_is_dropped_is_told(name: str) -> None:
    given, expect = CASES[name]["input"], CASES[name]["expect"]
    alice = conversation()
    for each in given["messages"]:
        made = message(request(alice), Role.USER, at=at(each["timestamp"]))
        Message.objects.filter(pk=made.pk).update(text=each["segments"][0]["text"])
    dropped = retention.prune_conversation(alice.pk, **retention.limits(), now=at(given["readAt"]))
    assert dropped == expect["droppedCount"]
    texts = [each.text for each in alice.messages.order_by("seq")]
    assert texts == expect.get("texts", ["hi"])


def test_every_case_is_tested_or_listed() -> None:
    tested = {
        "limits",
        "round_trip",
        "restored_sealed",
        "message_cap",
        "no_segments",
        "empty",
        "age_on_write",
        "age_on_read_fresh",
        "age_on_read_stale",
        "clock_backwards",
        "timestamps_survive",
        "drop_reported",
        "nothing_dropped",
    }
    assert tested | LATER.keys() == CASES.keys()
