"""The embedded agent-server as a process of its own: its announcement, its signals, its restart."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .server import LocalAgent
from .settings import Settings


async def run(
    data: Path,
    host: str,
    port: int,
    settings: Settings,
    announce: Callable[[str], None],
    on_join: Callable[[str, int], None] | None = None,
) -> None:
    """Serve until told to end. A restart serves again on the same port, from what is on disk.

    SIGTERM lets running commands end within `settings.drain_s` (WIRE.md 11); SIGINT and a second
    SIGTERM end at once. Raises OSError if the address cannot be had.
    """
    terminate, stop = asyncio.Event(), asyncio.Event()

    def on_terminate() -> None:
        (stop if terminate.is_set() else terminate).set()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, on_terminate)
    loop.add_signal_handler(signal.SIGINT, stop.set)
    try:
        while True:
            async with LocalAgent(data, settings).serving(port, host) as server:
                port = server.port
                server.on_join = on_join
                announce(server.url)
                how = await _end_of(server, terminate, stop)
            if how != "restart":
                return
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        loop.remove_signal_handler(signal.SIGINT)


async def _end_of(server: LocalAgent, terminate: asyncio.Event, stop: asyncio.Event) -> str:
    drained = asyncio.create_task(_drained(server, terminate))
    stopped = asyncio.create_task(stop.wait())
    try:
        ways: list[asyncio.Future[Any]] = [drained, stopped, server.ended]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        return server.ended.result() if server.ended.done() else "stop"
    finally:
        drained.cancel()
        stopped.cancel()


async def _drained(server: LocalAgent, terminate: asyncio.Event) -> None:
    await terminate.wait()
    await server.drain()
