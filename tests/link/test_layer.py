"""The channel layer of a site that is one process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from channels.exceptions import ChannelFull

from chat.link import layer as layer_module
from chat.link.layer import MemoryLayer


async def drain(layer: MemoryLayer, channel: str, count: int) -> list[int]:
    return [(await layer.receive(channel))["number"] for _ in range(count)]


async def test_c46_a_burst_reaches_everyone_who_reads() -> None:
    layer, channels = MemoryLayer(), [f"page.{number}" for number in range(8)]
    for channel in channels:
        await layer.group_add("group", channel)
    readers = [asyncio.create_task(drain(layer, channel, 2_000)) for channel in channels]
    for number in range(2_000):
        await layer.group_send("group", {"type": "page.push", "number": number})
        if number % 100 == 0:
            await asyncio.sleep(0)
    for got in await asyncio.gather(*readers):
        assert got == list(range(2_000))


async def test_c46_one_who_does_not_read_loses_the_newest_and_holds_up_nobody() -> None:
    layer = MemoryLayer(capacity=10)
    for channel in ("asleep", "awake"):
        await layer.group_add("group", channel)
    got = []
    for number in range(30):
        await layer.group_send("group", {"type": "page.push", "number": number})
        got += await drain(layer, "awake", 1)
    assert got == list(range(30))
    assert await drain(layer, "asleep", 10) == list(range(10))  # the next number shows the gap
    for number in range(10):
        await layer.send("asleep", {"type": "page.push", "number": number})
    with pytest.raises(ChannelFull):
        await layer.send("asleep", {"type": "page.push", "number": 10})


async def test_a_message_is_the_receivers_own() -> None:
    layer = MemoryLayer()
    await layer.group_add("group", "one")
    sent = {"type": "page.push", "number": 1}
    await layer.group_send("group", sent)
    sent["number"] = 2
    assert (await layer.receive("one"))["number"] == 1


async def test_one_who_left_gets_nothing() -> None:
    layer = MemoryLayer()
    await layer.group_add("group", "one")
    await layer.group_discard("group", "one")
    await layer.group_send("group", {"type": "page.push"})
    await layer.group_send("nobody", {"type": "page.push"})
    assert not layer.channels


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the steady clock so many seconds on."""

    def set_on(seconds: float) -> None:
        then = time.monotonic() + seconds
        monkeypatch.setattr(time, "monotonic", lambda: then)

    return set_on


async def test_c47_what_nobody_reads_expires_but_is_looked_for_seldom(
    later: Callable[[float], None],
) -> None:
    layer = MemoryLayer(expiry=-1)
    await layer.group_add("group", "gone")
    await layer.group_send("group", {"type": "page.push"})
    await layer.group_send("group", {"type": "page.push"})
    for _ in range(2):
        assert layer.channels["gone"].qsize() >= 2  # the clean-up has just been
        later(layer_module.CLEAN_EVERY_S + 1)
        await layer.group_send("group", {"type": "page.push"})
    assert "gone" not in layer.channels
    assert not layer.groups["group"]


async def test_after_a_long_pause_of_the_process_its_readers_go_on(
    later: Callable[[float], None],
) -> None:
    layer = MemoryLayer()
    await layer.group_add("group", "page")
    await layer.group_send("group", {"type": "page.push", "number": 0})
    later(layer.expiry + 1)
    await layer.group_send("group", {"type": "page.push", "number": 1})
    assert await drain(layer, "page", 2) == [0, 1]
    later(layer_module.CLEAN_EVERY_S + 1)
    await layer.group_send("group", {"type": "page.push", "number": 2})
    assert await drain(layer, "page", 1) == [2]


async def test_a_page_may_be_open_for_days_and_over_any_step_of_the_clock(
    monkeypatch: pytest.MonkeyPatch, later: Callable[[float], None]
) -> None:
    layer = MemoryLayer()
    await layer.group_add("group", "page")
    for days in (3, -3):
        then = time.time() + days * 24 * 3600
        monkeypatch.setattr(time, "time", lambda then=then: then)
        later(layer_module.CLEAN_EVERY_S + 1)
        await layer.group_send("group", {"type": "page.push", "number": days})
        assert await drain(layer, "page", 1) == [days]


async def test_a_group_name_is_checked() -> None:
    with pytest.raises(TypeError):
        await MemoryLayer().group_send("no spaces", {"type": "page.push"})
