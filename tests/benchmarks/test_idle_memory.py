"""What an open page and an idle link cost in memory, and that a thousand cost no more each."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from tests.benchmarks.crowd import open_pages, people, resident_kib
from tests.processes import Agent
from tests.survival.cluster import Cluster

pytestmark = pytest.mark.benchmark

SIZES = (100, 500, 1000)
REST_S = 5  # heartbeats and garbage collections go by
STRAIGHT = 1.5
"""The later conversations cost at most so many times what the earlier ones did."""


async def test_a_thousand_idle_conversations_cost_a_straight_line(
    make_cluster: Callable[..., Cluster], agent: Agent
) -> None:
    cluster = make_cluster(agent.url, sqlite=True)
    crowd = await asyncio.to_thread(people, cluster, SIZES[-1])
    (web,) = cluster.webs
    assert web.command is not None
    pid = web.command.process.pid
    used = [(0, resident_kib(pid))]
    async with AsyncExitStack() as stack:
        for size in SIZES:
            fresh = crowd[used[-1][0] : size]
            await stack.enter_async_context(open_pages(web, fresh, lambda *_: None))
            await asyncio.sleep(REST_S)
            used.append((size, resident_kib(pid)))
        await stack.enter_async_context(open_pages(web, crowd, lambda *_: None))
        await asyncio.sleep(REST_S)
        page = (resident_kib(pid) - used[-1][1]) / SIZES[-1]
    steps = [
        (few, many, (more - less) / (many - few))
        for (few, less), (many, more) in itertools.pairwise(used)
    ]
    told = ", ".join(f"{few}-{many}: {each:.0f} KiB each" for few, many, each in steps)
    print(  # noqa: T201 - a benchmark is read by people
        f"\nidle, page and link: {used[0][1] // 1024} MiB with none,"
        f" {used[-1][1] // 1024} MiB with {SIZES[-1]}; {told}; a page alone {page:.0f} KiB"
    )
    assert steps[-1][2] <= STRAIGHT * steps[1][2]
