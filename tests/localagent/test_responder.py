"""Plain text gets a useful, honest answer in the frames of the real server's chat agent."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from chat.localagent import LocalAgent, Settings
from chat.localagent.commands.responder import ECHO_CHARS, answer_to
from tests.shared import SHARED, requires_shared

from .client import wire
from .replay import is_snapshot, read_recording, summary


@requires_shared
async def test_the_frames_are_those_of_a_recorded_chat_answer(tmp_path: Path) -> None:
    settings = Settings(word_delay_s=0)
    async with LocalAgent(tmp_path, settings).serving() as server, wire(server.url) as client:
        await client.ask(
            "submitCommand", "hello there", None, {"activeSchemas": ["chat"]}, "chat-stream"
        )
        await client.complete("chat-stream")
        assert _merged(client.frames) == _merged(_recorded("chat-stream"))


@requires_shared
async def test_an_unknown_schema_is_answered_without_a_display(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        options = {"activeSchemas": ["nosuch"]}
        await client.ask("submitCommand", "hello there", None, options, "inactive-schema")
        result = await client.complete("inactive-schema")
        assert result["disposition"] == {"status": "notHandled", "reason": "noActiveSchema"}
        assert _merged(client.frames) == _merged(_recorded("inactive-schema"))


async def test_the_words_add_up_to_the_whole_text(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        result = await client.run("hello")
        inline = [a[0]["message"] for a in client.calls("appendDisplay") if a[1] == "inline"]
        assert inline.pop() == ""
        (whole,) = client.calls("setDisplay")
        assert whole[0]["message"]["content"] == "".join(piece["content"] for piece in inline)
        assert len(inline) > 10
        assert result["disposition"]["status"] == "handled"


async def test_a_cancelled_answer_ends_as_cancelled_and_failed(tmp_path: Path) -> None:
    settings = Settings(word_delay_s=60)
    async with LocalAgent(tmp_path, settings).serving() as server, wire(server.url) as client:
        entry = await client.submit("hello")
        await client.ask("cancelCommand", entry["requestId"])
        result = await client.complete()
        assert result["cancelled"] is True
        assert result["disposition"]["status"] == "failed"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("hello", "not a language model"),
        ("Who are you?", "built-in responder"),
        ("what can you do", "`@demo`"),
        ("what time is it?", "It is **"),
        ("what day is it", "Today is **"),
        ("12 * 12", "**144**"),
        ("what is 7+5?", "**12**"),
        ("9 - 10", "**-1**"),
        ("see you on 2026-11-30", "> see you"),
        ("how do I connect a real agent?", "TYPEAGENT_SERVER_URL"),
        ("thanks", "welcome"),
        ("bye", "Goodbye"),
        ("tell me about owls", "> tell me about owls"),
        ("", "empty message"),
    ],
)
def test_the_answer_fits_what_was_said(said: str, expected: str) -> None:
    assert expected in answer_to(said)


def test_a_long_message_is_not_repeated_in_full() -> None:
    assert len(answer_to("owl " * 5_000)) < ECHO_CHARS + 1_000


def test_numbers_too_long_to_reckon_with_are_left_alone() -> None:
    assert "`@help`" in answer_to("1" * 40 + " + " + "1" * 40)


def _recorded(client_id: str) -> list[dict[str, Any]]:
    entries = read_recording(SHARED / "wire" / "15-chat-llm.jsonl")
    frames = [e["frame"] for e in entries if e["dir"] == "in" and e["conn"] == "A" and "frame" in e]
    return [f for f in frames if repr(client_id) in str(f)]


def _merged(frames: list[dict[str, Any]]) -> list[Any]:
    """What is compared of the frames of a request, a run of streamed pieces counting as one."""
    about_request = [
        f
        for f in frames
        if "clientRequestId" in str(f) and "seq" not in str(f)
        if not is_snapshot(f)
    ]
    return [key for key, _ in groupby(summary(frame) for frame in about_request)]
