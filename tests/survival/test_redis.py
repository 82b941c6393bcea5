"""Redis is restarted, is gone, or hangs: each process goes on by itself, and pages that cannot be
reached say so and catch up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.survival.cluster import Cluster
from tests.survival.conftest import StartTalk
from tests.survival.pinned import PinnedReader, all_show, answered, post_to, seconds_left
from tests.survival.rounds import USUAL, rounds
from tests.survival.rows import Rows
from tests.survival.servers import RedisServer

MESSAGES = 5
GONE_S = 60.0
SHORTLY_GONE_S = 6.0
"""Three times the time after which others take over."""

MANY = " ".join(f"word{number}" for number in range(40))
NO_LIVE_UPDATES = "No live updates at the moment"


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server.start()
    server.kill()


@pytest.fixture(scope="module")
def site_settings(redis: RedisServer) -> dict[str, Any]:
    return {"REDIS_URL": redis.url, "LINK_LINGER_S": "60"}


@pytest.fixture(autouse=True)
def _redis_runs_afterwards(redis: RedisServer) -> Iterator[None]:
    yield
    redis.kill()
    redis.start()


def gone_s(seed: int) -> float:
    return SHORTLY_GONE_S if seed < USUAL else GONE_S


@rounds()
async def test_a_restart_of_redis_loses_nothing(
    talk: StartTalk, redis: RedisServer, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(2.5)
        await asyncio.to_thread(redis.kill)
        await chat.moment(1.5)
        await asyncio.to_thread(redis.start)
        await talking
        await chat.settle()
        await chat.check()


@rounds()
async def test_without_redis_one_process_goes_on_by_itself(
    talk: StartTalk, cluster: Cluster, redis: RedisServer, rows: Rows, seed: int
) -> None:
    """Its pages see every answer while Redis is away; those of the other see what is stored."""
    async with talk(seed) as chat, AsyncExitStack() as pages:
        await chat.send("before")
        await chat.settle()
        owning = rows.owner_pid(chat.person.key)
        owner, other = sorted(cluster.running, key=lambda web: web.pid != owning)
        near = await pages.enter_async_context(PinnedReader(chat.person, owner))
        far = await pages.enter_async_context(PinnedReader(chat.person, other))
        await all_show(chat, near, far)
        sockets, pushes = (near.opened, far.opened), near.pushes
        end = asyncio.get_running_loop().time() + gone_s(seed)
        if seed % 2:
            redis.pause()
        else:
            await asyncio.to_thread(redis.kill)
        assert (await post_to(chat, owner, "at the owner's " + MANY)).status == 200
        assert (await post_to(chat, other, "at the other's " + MANY)).status == 200
        await chat.until("all is answered", lambda: answered(chat) == 3)
        await all_show(chat, near, far)
        assert near.pushes >= pushes + 2, "the near page heard it live"
        await chat.until("the far page says so", lambda: NO_LIVE_UPDATES in far.said)
        await seconds_left(end)
        assert (near.opened, far.opened) == sockets, "a socket was closed"
        redis.kill()
        await asyncio.to_thread(redis.start)
        await chat.until("the far page is told", lambda: far.connection_text == "Connected")
        assert NO_LIVE_UPDATES not in near.said
        await chat.send("afterwards")
        await chat.settle()
        await all_show(chat, near, far)
        await chat.check()


@rounds()
async def test_without_redis_pages_open_and_messages_are_answered(
    talk: StartTalk, redis: RedisServer, seed: int
) -> None:
    async with talk(seed) as chat:
        await chat.moment(1.0)
        await asyncio.to_thread(redis.kill)
        await chat.chatter(2, within_s=0.5)
        await chat.until("all is answered", lambda: answered(chat) == 2)
        for web in chat.person.cluster.running:
            async with PinnedReader(chat.person, web) as late:
                await all_show(chat, late)
        await asyncio.to_thread(redis.start)
        await chat.settle()
        await chat.check(peak=None)
