"""The connection to the agent-server stops, crawls or goes, whatever both ends do meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from chat.transcript.history import LOG_LAG_MS
from tests.localagent.client import wire
from tests.processes import Agent
from tests.survival.conftest import AGENT_WAITS, StartTalk
from tests.survival.proxy import Proxy
from tests.survival.rounds import rounds

MESSAGES = 3
GRACE_S = 2.0
"""After which the agent-server cancels what waits of a client that is away: 30 s, really."""

IDLE_S = 1.0
"""After which it unloads a conversation that nobody has joined: 5 minutes, really."""


@pytest.fixture(scope="module")
def agent_options() -> tuple[str, ...]:
    return (*AGENT_WAITS, "--grace", f"{GRACE_S:g}", "--idle", f"{IDLE_S:g}")


@pytest.fixture(scope="module")
def proxy(upstream: Agent) -> Iterator[Proxy]:
    """Stands between the site and its agent-server."""
    proxy = Proxy(upstream.url)
    yield proxy.start()
    proxy.stop()


@pytest.fixture(scope="module")
def site_settings(proxy: Proxy) -> dict[str, Any]:
    # As it is by default: an answer has to come through on a slow line.
    return {"TYPEAGENT_SERVER_URL": proxy.url, "AGENT_INVOKE_TIMEOUT_S": "30"}


@rounds()
async def test_a_half_open_socket_is_noticed_and_left(
    talk: StartTalk, proxy: Proxy, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(2.5)
        up, down = chat.rng.choice([(True, True), (True, False), (False, True)])
        proxy.hold(up=up, down=down)
        await talking
        await chat.settle_after()
        # The agent-server cannot know that the old socket is dead: no packet tells it.
        await chat.check(peak=2)


@rounds()
async def test_a_slow_connection_loses_nothing(talk: StartTalk, proxy: Proxy, seed: int) -> None:
    async with talk(seed) as chat:
        # Faster one way than the other; a reply of some 20 KB takes seconds on it.
        up, down = chat.rng.choice([(0, 8_000), (2_000, 0), (2_000, 8_000)])
        proxy.slow(up=up, down=down)
        try:
            await chat.chatter(MESSAGES)
            await chat.settle_after()
        finally:
            proxy.slow()
        await chat.check()
        assert {request["state"] for request in chat.requests()} == {"final"}


@rounds()
async def test_a_connection_that_is_cut_again_and_again_loses_nothing(
    talk: StartTalk, proxy: Proxy, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        for _ in range(chat.rng.randint(2, 4)):
            await chat.moment(1)
            proxy.cut()
        await talking
        await chat.settle_after()
        await chat.check()


@rounds()
async def test_a_conversation_that_was_unloaded_meanwhile_loses_nothing(
    talk: StartTalk, proxy: Proxy, upstream: Agent, seed: int
) -> None:
    async with talk(seed) as chat:
        await chat.chatter(2)
        await chat.settle()
        proxy.go_away()
        talking = asyncio.create_task(chat.chatter(2))
        await asyncio.sleep(2 * IDLE_S)
        proxy.come_back()
        await talking
        await chat.settle_after()
        await chat.check()
        assert {request["state"] for request in chat.requests()} == {"final"}
        async with wire(upstream.url, join=False) as other:
            await other.join(chat.rows.upstream_id(chat.person.key))
            assert int(other.connection_id) < chat.joins(), "it was not unloaded"


@rounds()
async def test_a_deep_clear_while_the_link_is_away_loses_and_brings_back_nothing(
    talk: StartTalk, proxy: Proxy, upstream: Agent, seed: int
) -> None:
    """The numbers of the agent-server's log begin at 0 again, behind the site's back."""
    async with talk(seed) as chat:
        await chat.chatter(chat.rng.randint(1, 3))
        await chat.until("it is joined", chat.joins)
        if chat.rng.random() < 0.5:
            await chat.settle()
            await chat.person.post("clear/")
            chat.sent.clear()
            await chat.until("the page is empty", lambda: not chat.shown())
            # What was asked elsewhere so soon after a clear may be from before it.
            await asyncio.sleep(2 * LOG_LAG_MS / 1000)
        chat.forget_log()
        proxy.go_away()
        talking = asyncio.create_task(chat.chatter(2))
        said = [f"@display from elsewhere {number}" for number in range(chat.rng.randint(0, 4))]
        async with wire(upstream.url, join=False) as other:
            await other.join(chat.rows.upstream_id(chat.person.key))
            for number, text in enumerate(["@clear deep", *said]):
                await other.run(text, f"client {number}")
        proxy.come_back()
        await talking
        await chat.settle_after()
        await asyncio.to_thread(proxy.cut)
        await chat.settle_after()
        await chat.check(peak=2)  # one is the other client's
        foreign = [row["text"] for row in chat.requests() if row["origin"] == "remote"]
        assert foreign == said, chat.story()


@rounds()
async def test_a_deep_clear_of_ones_own_loses_and_brings_back_nothing(
    talk: StartTalk, proxy: Proxy, seed: int
) -> None:
    async with talk(seed) as chat:
        await chat.chatter(2)
        await chat.send("@clear deep", echoed=False)
        chat.forget_log()
        talking = asyncio.create_task(chat.chatter(2))
        await chat.moment(2)
        proxy.cut()
        await talking
        await chat.settle_after()
        await chat.check()


async def test_c43_a_stop_finds_its_way_after_two_reconnections(
    talk: StartTalk, proxy: Proxy, upstream: Agent
) -> None:
    async with talk(0) as chat:
        asked = await chat.send("@demo stream 4000 60 600", echoed=False)
        await chat.until("it streams", lambda: chat.in_state("agent", "streaming"))
        for _ in range(2):
            joins = chat.joins()
            proxy.cut()
            await chat.until("it is joined again", lambda before=joins: chat.joins() > before)
            await chat.until("it says so", lambda: chat.reader.connection == "connected")
        (request,) = chat.requests()
        await chat.person.post("stop/", request=request["request_id"])
        await chat.settle_after()
        assert chat.state_of(asked) == "cancelled"
        await chat.check()
        log = upstream.log(chat.rows.upstream_id(chat.person.key))
        assert [entry["type"] for entry in log].count("command-result") == 2


async def test_c44_what_was_cancelled_while_the_agent_server_was_out_of_reach_can_be_retried(
    talk: StartTalk, proxy: Proxy
) -> None:
    async with talk(0) as chat:
        await chat.send(f"@demo stream 2000 {5 * GRACE_S:g} 100", echoed=False)
        await chat.until("it streams", lambda: chat.in_state("agent", "streaming"))
        waiting = [await chat.send(f"number {number}") for number in range(2)]
        await chat.until("they wait", lambda: len(chat.in_state("user", "queued")) == 2)
        proxy.go_away()
        await asyncio.sleep(2 * GRACE_S)
        proxy.come_back()
        await chat.person.post("reconnect/")
        await chat.settle()
        assert [chat.state_of(one) for one in waiting] == ["cancelled"] * 2
        bubbles = [bubble for bubble in chat.reader.order if bubble.state == "cancelled"]
        assert [bubble.text for bubble in bubbles] == ["number 0", "number 1"]
        why = "Cancelled while the agent-server could not be reached"
        assert all(bubble.retry and why in bubble.foot for bubble in bubbles)
        await chat.check()
        for bubble in bubbles:
            await chat.person.post("retry/", request=bubble.request)
        await chat.until("both are answered", lambda: chat.finals() == 3)
