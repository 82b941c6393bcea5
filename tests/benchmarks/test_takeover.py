"""How long a conversation has no link when its process ends: told to, or killed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from statistics import median, quantiles

import pytest

from tests.benchmarks.conftest import USUAL_WAITS
from tests.benchmarks.crowd import open_pages, people
from tests.processes import Agent
from tests.survival.cluster import Cluster, Web
from tests.survival.rows import Rows

pytestmark = pytest.mark.benchmark

ROUNDS = 20
LOOK_EVERY_S = 0.01
TTL_S = float(USUAL_WAITS["OWNER_TTL_S"])
SIGTERM_BUDGET_S = 1.0
KILL_BUDGET_S = TTL_S + 2
OWNER = "SELECT owner_epoch, link_state FROM chat_conversation WHERE key = {0}"


async def joined_after(rows: Rows, key: str, epoch: int) -> int:
    """Until another owner than that of `epoch` has joined; gives its epoch."""
    while True:
        (row,) = await asyncio.to_thread(rows.query, OWNER, key)
        if row["owner_epoch"] > epoch and row["link_state"] == "joined":
            return int(row["owner_epoch"])
        await asyncio.sleep(LOOK_EVERY_S)


@pytest.mark.parametrize(
    ("end", "budget"), [(Web.terminate, SIGTERM_BUDGET_S), (Web.kill, KILL_BUDGET_S)]
)
async def test_another_process_takes_over(
    make_cluster: Callable[..., Cluster],
    agent: Agent,
    end: Callable[[Web], object],
    budget: float,
) -> None:
    cluster = make_cluster(agent.url, count=2)
    rows = Rows(cluster.database_url)
    (person,) = await asyncio.to_thread(people, cluster, 1)
    epoch = 0
    took = []
    for _ in range(ROUNDS):
        owner, other = cluster.webs
        async with open_pages(owner, [person], lambda *_: None):
            epoch = await joined_after(rows, person.key, epoch)
            async with open_pages(other, [person], lambda *_: None):
                began = time.monotonic()
                ending = asyncio.create_task(asyncio.to_thread(end, owner))
                epoch = await joined_after(rows, person.key, epoch)
                took.append(time.monotonic() - began)
                await ending
        await asyncio.to_thread(owner.start)
        cluster.webs.reverse()
        epoch -= 1  # it stays joined until its own process ends in the next round
    worst = quantiles(took, n=20)[-1]
    print(  # noqa: T201 - a benchmark is read by people
        f"\ntakeover after {end.__name__}, {ROUNDS} times: median {median(took):.2f} s,"
        f" p95 {worst:.2f} s, TTL {TTL_S:g} s"
    )
    assert worst <= budget
