"""A process that cannot end in good order, because what it waits for says nothing, ends all the
same; what it had not written is told by the agent-server to the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.site.servers import Valve
from tests.survival.cluster import Cluster, require
from tests.survival.conftest import StartTalk
from tests.survival.stock import POSTGRES, Database

STOP_WITHIN_S = "2"
LONG = " ".join(f"word{number}" for number in range(50))  # some seconds of an answer


@pytest.fixture(scope="module")
def valve() -> Iterator[Valve]:
    """Between the site and PostgreSQL."""
    require("PostgreSQL", POSTGRES)
    valve = Valve(POSTGRES[1])
    yield valve
    valve.close()


@pytest.fixture(scope="module")
def site_settings(valve: Valve) -> Iterator[dict[str, Any]]:
    database = Database()
    url = database.url.replace(f":{POSTGRES[1]}/", f":{valve.port}/")
    yield {"count": 1, "DATABASE_URL": url, "STOP_WITHIN_S": STOP_WITHIN_S}
    database.drop()


async def test_a_database_that_says_nothing_does_not_keep_a_process_alive(
    talk: StartTalk, cluster: Cluster, valve: Valve
) -> None:
    (web,) = cluster.webs
    async with talk(1) as chat:
        await chat.send(LONG)
        await chat.until("it runs", lambda: chat.reader.running)
        valve.shut()
        code = await asyncio.to_thread(web.terminate)
        valve.open()
        assert code == 1, f"it ended in good order, or not at all: {code}\n{web.output}"
        await asyncio.to_thread(web.start)
        await chat.settle()
        await chat.check()


async def test_a_database_that_answers_lets_it_end_in_good_order(
    talk: StartTalk, cluster: Cluster
) -> None:
    (web,) = cluster.webs
    async with talk(2) as chat:
        await chat.send(LONG)
        await chat.until("it runs", lambda: chat.reader.running)
        assert await asyncio.to_thread(web.terminate) == 0
        await asyncio.to_thread(web.start)
        await chat.settle()
        await chat.check()
