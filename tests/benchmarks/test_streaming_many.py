"""How much later a streamed piece reaches a page than through a bare relay, for 1 to 100
conversations at once; each process on one core, the site and the relay in turns.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from uuid import uuid4

import pytest
from websockets.asyncio.client import connect

from tests.benchmarks.clock_agent import ASK, CHUNKS, RATE, STAMP
from tests.benchmarks.crowd import cpu_seconds, open_pages, people
from tests.processes import ROOT
from tests.survival.cluster import Cluster, Web

pytestmark = pytest.mark.benchmark

SIZES = (1, 20, 100)
PATIENCE_S = 120
BUDGET_MS = 60
"""Of the median that is added at `BUDGET_AT` conversations: 40 ms of it is coalescing."""

BUDGET_AT = 20
SITE_CORE, OTHER_CORE = 0, 1


@dataclass
class Heard:
    """When each piece came to one page."""

    delays_ms: dict[int, float] = field(default_factory=dict)
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, text: str) -> None:
        """Note the pieces that were not there before."""
        now = time.monotonic_ns() // 1000
        for number, sent in STAMP.findall(text):
            self.delays_ms.setdefault(int(number), (now - int(sent)) / 1000)
        if len(self.delays_ms) == CHUNKS:
            self.complete.set()


@dataclass
class Measured:
    """Of all pieces of all conversations; the processor's time is per piece."""

    p50_ms: float
    p99_ms: float
    cpu_us: float
    complete: int


def summary(heard: list[Heard], cpu_s: float) -> Measured:
    delays = [delay for one in heard for delay in one.delays_ms.values()]
    return Measured(
        median(delays),
        quantiles(delays, n=100)[-1],
        cpu_s * 1e6 / (len(heard) * CHUNKS),
        sum(one.complete.is_set() for one in heard),
    )


@contextmanager
def process(module: str, argument: str, core: int) -> Iterator[tuple[str, int]]:
    """One of the programs beside this file; gives the address that it prints, and its pid."""
    program = subprocess.Popen(
        [sys.executable, "-m", f"tests.benchmarks.{module}", argument],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    try:
        os.sched_setaffinity(program.pid, {core})
        yield program.stdout.readline().strip(), program.pid
    finally:
        program.terminate()
        program.wait()
        program.stdout.close()


def pin(web: Web) -> None:
    """Keep all threads of a process of the site on one core."""
    assert web.command is not None
    for thread in Path(f"/proc/{web.command.process.pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {SITE_CORE})


async def all_complete(heard: list[Heard]) -> None:
    """Or as complete as they become."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            for one in heard:
                await one.complete.wait()


async def through_site(cluster: Cluster, size: int) -> Measured:
    (web,) = cluster.webs
    assert web.command is not None
    pid = web.command.process.pid
    crowd = await asyncio.to_thread(people, cluster, size)
    heard = [Heard() for _ in crowd]
    async with open_pages(web, crowd, lambda number, text: heard[number].hear(text)):
        before = cpu_seconds(pid)
        await asyncio.gather(*(person.send(ASK, str(uuid4())) for person in crowd))
        await all_complete(heard)
        used = cpu_seconds(pid) - before
    return summary(heard, used)


async def through_relay(address: str, pid: int, size: int) -> Measured:
    heard = [Heard() for _ in range(size)]
    url = address.replace("http", "ws", 1) + "socket"
    async with AsyncExitStack() as stack:
        sockets = []
        for _ in range(size):
            opening = connect(url, proxy=None, compression=None, ping_interval=None)
            sockets.append(await stack.enter_async_context(opening))
        await asyncio.sleep(1)

        async def listen(number: int) -> None:
            async for text in sockets[number]:
                heard[number].hear(str(text))

        listeners = [asyncio.create_task(listen(number)) for number in range(size)]
        before = cpu_seconds(pid)
        for socket in sockets:
            await socket.send(ASK)
        await all_complete(heard)
        used = cpu_seconds(pid) - before
        for listener in listeners:
            listener.cancel()
    return summary(heard, used)


async def test_pieces_come_nearly_as_soon_as_through_a_bare_relay(
    make_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    os.sched_setaffinity(0, {OTHER_CORE})
    measured = {}
    try:
        with process("clock_agent", str(tmp_path / "clock"), OTHER_CORE) as (agent_url, _):
            cluster = make_cluster(agent_url, sqlite=True)
            (web,) = cluster.webs
            pin(web)
            with process("relay", agent_url, SITE_CORE) as (relay, relay_pid):
                for size in SIZES:
                    ours = await through_site(cluster, size)
                    bare = await through_relay(relay, relay_pid, size)
                    measured[size] = (ours, bare)
    finally:
        os.sched_setaffinity(0, {SITE_CORE, OTHER_CORE})
    for size, (ours, bare) in measured.items():
        print(  # noqa: T201 - a benchmark is read by people
            f"\n{size} at once, {CHUNKS} pieces each at {RATE} a second: added delay"
            f" p50 {ours.p50_ms - bare.p50_ms:.0f} ms, p99 {ours.p99_ms - bare.p99_ms:.0f} ms"
            f" (site {ours.p50_ms:.0f} and {ours.p99_ms:.0f}, relay {bare.p50_ms:.0f} and"
            f" {bare.p99_ms:.0f}); CPU {ours.cpu_us:.0f} µs a piece, relay {bare.cpu_us:.0f};"
            f" complete {ours.complete}, relay {bare.complete}"
        )
    assert all(ours.complete == size for size, (ours, _) in measured.items())
    ours, bare = measured[BUDGET_AT]
    assert ours.p50_ms - bare.p50_ms < BUDGET_MS
