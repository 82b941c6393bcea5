"""Many people at one site, each with an open page: what benchmarks of load are made of."""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect

from tests.survival.cluster import Cluster, Web
from tests.survival.person import Person
from tests.survival.stock import new_people

OPEN_AT_ONCE = 20
FILES = 65_536  # sockets of one process, at most
CLOCK_TICKS = 100  # per second, in /proc


def allow_many_files() -> None:
    """For this process and those that it starts from now on."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, most), most))


def people(cluster: Cluster, count: int) -> list[Person]:
    """So many people, each logged in and with an empty conversation."""
    return [Person(cluster, *someone) for someone in new_people(cluster.env, count)]


def open_socket(web: Web, person: Person) -> connect:
    """The socket of a page of theirs at that process."""
    return connect(
        f"ws://127.0.0.1:{web.port}/ws/c/{person.key}/",
        origin=web.url,  # type: ignore[arg-type]
        additional_headers={"Cookie": person.cookies},
        proxy=None,
        compression=None,
        max_size=2**26,
        ping_interval=None,
        open_timeout=60,
    )


@asynccontextmanager
async def open_pages(
    web: Web, crowd: list[Person], hear: Callable[[int, str], None]
) -> AsyncIterator[None]:
    """A page for each of them, all connected; `hear` is told what is pushed, and to which."""
    opened = [asyncio.Event() for _ in crowd]
    at_once = asyncio.Semaphore(OPEN_AT_ONCE)

    async def listen(number: int, socket: ClientConnection) -> None:
        async for push in socket:
            text = str(push)
            if 'data-state="connected"' in text:
                opened[number].set()
            hear(number, text)

    async def open_one(number: int, stack: AsyncExitStack) -> None:
        async with at_once:
            socket = await stack.enter_async_context(open_socket(web, crowd[number]))
            await socket.send(json.dumps({"type": "hello", "revision": 0}))
            listeners.append(asyncio.create_task(listen(number, socket)))
            await opened[number].wait()

    listeners: list[asyncio.Task[None]] = []
    async with AsyncExitStack() as stack:
        await asyncio.gather(*(open_one(number, stack) for number in range(len(crowd))))
        yield
        for listener in listeners:
            listener.cancel()


def resident_kib(pid: int) -> int:
    """Memory of a process that is in RAM, in KiB."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise ProcessLookupError(pid)


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS
