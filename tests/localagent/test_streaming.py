"""`@demo stream` and its like: deterministic text in pieces, replaced by the whole."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chat.localagent import LocalAgent, Settings, demo_text
from chat.localagent.demotext import chunks_of

from .client import Wire, wire


@pytest.mark.parametrize("chars", [0, 1, 500, 2_000, 8_000, 100_000])
def test_the_demo_text_has_exactly_the_asked_length(chars: int) -> None:
    assert len(demo_text(chars)) == chars


def test_a_longer_demo_text_begins_with_the_shorter_one() -> None:
    assert demo_text(5_000).startswith(demo_text(2_000))


def test_the_demo_text_has_every_common_markdown_block() -> None:
    text = demo_text(2_000)
    assert all(mark in text for mark in ("## ", "- **", "| ---", "```python", "> ", "`third"))


@pytest.mark.parametrize(("length", "count"), [(10, 3), (3, 10), (2_000, 120), (0, 5)])
def test_chunks_join_to_the_text_and_none_is_empty(length: int, count: int) -> None:
    text = demo_text(length)
    chunks = chunks_of(text, count)
    assert "".join(chunks) == text
    assert len(chunks) == max(1, min(count, length))
    assert all(chunks) or not text


async def test_what_streams_adds_up_to_what_replaces_it(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        result = await client.run("@demo stream")
        assert _streamed(client) == demo_text(2_000)
        (replacing,) = client.calls("setDisplay")
        assert replacing[0]["message"] == {"type": "markdown", "content": demo_text(2_000)}
        assert "lastError" not in result


async def test_a_stream_takes_characters_seconds_and_chunks(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await client.run("@demo stream 8000 4 400")
        assert _streamed(client) == demo_text(8_000)
        assert len(client.calls("appendDisplay")) == 400


@pytest.mark.parametrize("text", ["@demo stream x y z", "@demo stream -5 nan inf"])
async def test_nonsense_numbers_mean_the_defaults(agent: LocalAgent, text: str) -> None:
    async with wire(agent.url) as client:
        await client.run(text)
        assert _streamed(client) == demo_text(2_000)


async def test_a_long_answer_has_400_chunks(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await client.run("@demo long")
        assert len(client.calls("appendDisplay")) == 400
        assert _streamed(client) == demo_text(8_000)


async def test_a_stream_can_be_cancelled_in_the_middle(tmp_path: Path) -> None:
    async with LocalAgent(tmp_path).serving() as server, wire(server.url) as client:
        entry = await client.submit("@demo stream 2000 600 4000")
        await client.event("appendDisplay")
        kind = await client.ask("cancelCommand", entry["requestId"])
        assert kind == {"kind": "cancelled_running", "requestId": entry["requestId"]}
        assert (await client.complete())["cancelled"] is True
        assert not client.calls("setDisplay")


async def test_a_hundred_conversations_stream_at_once(tmp_path: Path) -> None:
    settings = Settings(pace=0.1)
    async with LocalAgent(tmp_path, settings).serving() as server:

        async def stream(number: int) -> str:
            async with wire(server.url, join=False) as client:
                made = await client.server("createConversation", f"many {number}")
                await client.join(made["conversationId"])
                await client.run("@demo stream 1000 3 50")
                return _streamed(client)

        streamed = await asyncio.gather(*(stream(number) for number in range(100)))
        assert set(streamed) == {demo_text(1_000)}
        assert server.connections_peak == 100


def _streamed(client: Wire) -> str:
    pieces = [args for args in client.calls("appendDisplay") if args[1] == "inline"]
    return "".join(args[0]["message"]["content"] for args in pieces)
