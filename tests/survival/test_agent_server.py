"""The agent-server dies, drains, restarts, forgets a conversation or loses it, or says too much."""

from __future__ import annotations

import asyncio
import signal

import pytest

from chat.link.link import TOO_BIG_NOTICE
from chat.link.upstream import REPLACED_NOTICE
from chat.localagent.commands.shows import BIG_CHARS
from tests.localagent.client import wire
from tests.processes import Agent
from tests.survival.conftest import AGENT_WAITS, StartTalk
from tests.survival.rounds import rounds

MESSAGES = 3
IDLE_S = 1.0
"""After which the agent-server unloads a conversation that nobody has joined: 5 minutes, really."""

HUGE_KB = 20_000
MAX_JOINS = 4
"""The first; one whose log is too large; one that does without it; one to spare for a drop."""


@pytest.fixture(scope="module")
def agent_options() -> tuple[str, ...]:
    return (*AGENT_WAITS, "--idle", f"{IDLE_S:g}")


@rounds()
async def test_kill_9_of_the_agent_server_loses_nothing(
    talk: StartTalk, upstream: Agent, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(2.5)
        await asyncio.to_thread(upstream.kill)
        await chat.moment(1.5)
        await asyncio.to_thread(upstream.start)
        await talking
        await chat.settle_after()
        await chat.check()


@rounds()
async def test_sigterm_of_the_agent_server_and_its_mute_drain_lose_nothing(
    talk: StartTalk, upstream: Agent, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(2.5)
        await asyncio.to_thread(upstream.stop)
        await chat.moment(1.5)
        await asyncio.to_thread(upstream.start)
        await talking
        await chat.settle_after()
        await chat.check()


@rounds()
async def test_a_restart_that_a_message_asks_for_loses_nothing(talk: StartTalk, seed: int) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(2, within_s=0.5))
        await chat.moment(1)
        await talking
        asked = await chat.send("@server restart", echoed=False)
        await chat.chatter(2, within_s=3)
        await chat.settle_after()
        await chat.check()
        assert chat.state_of(asked) == "interrupted"


@rounds()
async def test_a_conversation_deleted_by_another_client_is_replaced_and_says_so(
    talk: StartTalk, upstream: Agent, seed: int
) -> None:
    """No frame tells of it: the site finds out, mid-reply and while idle."""
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(2))
        if seed % 2:
            await talking
            await chat.settle()
        await chat.until("it is joined", lambda: chat.rows.upstream_id(chat.person.key))
        gone = chat.rows.upstream_id(chat.person.key)
        async with wire(upstream.url, join=False) as other:
            await other.server("deleteConversation", gone)
        await talking
        await chat.until("the site knows", lambda: chat.rows.upstream_id(chat.person.key) != gone)
        notices = [bubble.text for bubble in chat.stored() if bubble.role == "notice"]
        assert notices == [REPLACED_NOTICE]
        kept = {request["client_id"] for request in chat.requests()}
        # What the old conversation had went with it; what it never had goes to the new one.
        chat.sent = [one for one in chat.sent if one.client_id in kept]
        await chat.settle_after()
        await chat.check()
        assert {request["state"] for request in chat.requests()} == {"final"}


@rounds()
async def test_a_conversation_unloaded_while_nobody_looked_loses_nothing(
    talk: StartTalk, upstream: Agent, seed: int
) -> None:
    async with talk(seed) as chat:
        await chat.chatter(2)
        await chat.settle()
        await chat.reader.__aexit__()
        await chat.until("the link is closed", lambda: not chat.rows.owner(chat.person.key))
        await asyncio.sleep(2 * IDLE_S)
        await chat.reader.__aenter__()
        await chat.settle_after()
        await chat.check()
        async with wire(upstream.url, join=False) as other:
            await other.join(chat.rows.upstream_id(chat.person.key))
            assert int(other.connection_id) < chat.joins(), "it was not unloaded"


@rounds()
async def test_two_megabytes_in_a_frame_arrive_whole(talk: StartTalk, seed: int) -> None:
    async with talk(seed) as chat:
        asked = await chat.send("@test show big", echoed=False)
        await chat.chatter(2, within_s=1)
        await chat.settle()
        await chat.check()
        (request,) = [r for r in chat.requests() if r["client_id"] == asked.client_id]
        bubbles = chat.rows.messages(chat.person.key, request["id"])
        assert [bubble["text"] for bubble in bubbles] == [asked.text, "x" * BIG_CHARS]
        # `check` has compared the open page and a reloaded one with the row.
        assert "x" * BIG_CHARS in [bubble.text for bubble in await chat.fresh()]


@rounds()
async def test_twenty_megabytes_in_a_frame_are_told_of_and_the_conversation_goes_on(
    talk: StartTalk, seed: int
) -> None:
    async with talk(seed) as chat:
        await chat.chatter(1, within_s=1)
        asked = await chat.send(f"@demo big {HUGE_KB}", echoed=False)
        await chat.chatter(1, within_s=1)
        await chat.settle_after()
        notices = [bubble.text for bubble in chat.stored() if bubble.role == "notice"]
        assert notices == [TOO_BIG_NOTICE]
        assert chat.state_of(asked) in ("final", "interrupted")
        await chat.check()
        assert chat.joins() <= MAX_JOINS


async def test_c12_an_agent_server_that_accepts_and_never_answers_is_told_of(
    talk: StartTalk, upstream: Agent
) -> None:
    async with talk(0) as chat:
        await chat.send("is it working?")
        await chat.settle()
        assert upstream.command is not None
        upstream.command.process.send_signal(signal.SIGSTOP)
        try:
            await chat.send("is anybody there?")
            await chat.until(
                "the page says so", lambda: "did not answer" in chat.reader.connection_text
            )
            assert chat.reader.connection == "reconnecting"
        finally:
            upstream.command.process.send_signal(signal.SIGCONT)
        await chat.settle_after()
        await chat.check(peak=2)  # a stopped agent-server has not seen that the first one left
