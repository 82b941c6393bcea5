"""A TCP proxy of a test's own, whose traffic can be held, slowed down and cut."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Self

from tests.survival.loop import Loop

CHUNK_BYTES = 16_384
SMALL_BUFFER_BYTES = 16_384
"""Of a socket, so that who reads slowly is soon noticed by who writes."""


@dataclass(eq=False)
class Way:
    """One direction of a connection, or of all. `bytes_s` of 0 is as fast as it goes."""

    flows: asyncio.Event = field(default_factory=asyncio.Event)
    bytes_s: float = 0

    def __post_init__(self) -> None:
        self.flows.set()


@dataclass(eq=False)
class Pair:
    """One connection: the client's socket and the one to the target."""

    client: asyncio.StreamWriter
    target: asyncio.StreamWriter
    up: Way
    down: Way

    def abort(self) -> None:
        """Both sides see a reset."""
        for writer in (self.client, self.target):
            with contextlib.suppress(OSError):
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, linger
                )
            writer.transport.abort()


class Proxy:
    """Runs in a thread of its own, from `start` to `stop`; use it from the thread of the test.

    "Up" is from the site to the agent-server.
    """

    def __init__(self, url: str) -> None:
        self._target_port = int(url.rpartition(":")[2])
        self._pairs: set[Pair] = set()
        self._away = False
        self._rates = (0.0, 0.0)
        self._thread = Loop()
        self.url = ""
        self.opened = 0
        """Connections so far."""

    def start(self) -> Self:
        """Listen on a free port of loopback."""
        self._thread.start()
        self._do(self._listen())
        return self

    def stop(self) -> None:
        """Cut everything and listen no more."""
        self._do(self._close())
        self._thread.stop()

    def cut(self) -> None:
        """Reset every connection; new ones are taken."""
        self._do(self._cut())

    def go_away(self) -> None:
        """Reset every connection, and new ones at once, until `come_back`."""
        self._away = True
        self.cut()

    def come_back(self) -> None:
        """Take connections again."""
        self._away = False

    def hold(self, *, up: bool = True, down: bool = True) -> None:
        """Forward nothing more on the connections that are open now, not even their end: packets
        are dropped. New connections are not touched.
        """
        self._do(self._hold(up=up, down=down))

    def slow(self, *, up: float = 0, down: float = 0) -> None:
        """So many bytes a second, on every connection; 0 is as fast as it goes."""
        self._rates = (up, down)
        self._do(self._slow())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self._thread.do(work)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _close(self) -> None:
        self._server.close()
        await self._cut()

    async def _cut(self) -> None:
        for pair in list(self._pairs):
            pair.abort()
            pair.up.flows.set()
            pair.down.flows.set()

    async def _hold(self, *, up: bool, down: bool) -> None:
        for pair in self._pairs:
            if up:
                pair.up.flows.clear()
            if down:
                pair.down.flows.clear()

    async def _slow(self) -> None:
        for pair in self._pairs:
            pair.up.bytes_s, pair.down.bytes_s = self._rates

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        target = socket.socket()
        target.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
        target.setblocking(False)
        try:
            if self._away:
                raise ConnectionRefusedError
            await asyncio.get_running_loop().sock_connect(target, ("127.0.0.1", self._target_port))
            from_target, to_target = await asyncio.open_connection(
                sock=target, limit=SMALL_BUFFER_BYTES
            )
        except OSError:
            target.close()
            writer.transport.abort()
            return
        pair = Pair(writer, to_target, Way(bytes_s=self._rates[0]), Way(bytes_s=self._rates[1]))
        self._pairs.add(pair)
        try:
            await asyncio.gather(
                _pump(reader, to_target, pair.up), _pump(from_target, writer, pair.down)
            )
        finally:
            pair.abort()
            self._pairs.discard(pair)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK_BYTES):
            await way.flows.wait()
            writer.write(data)
            await writer.drain()
            if way.bytes_s:
                await asyncio.sleep(len(data) / way.bytes_s)
    await way.flows.wait()
    writer.close()
