"""The network between browsers and a site, as a test wants it: slow, cut, dead, or with a proxy
in it that closes WebSockets as it likes. Real TCP all the way.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from tests.processes import PATIENCE_S

CHUNK_BYTES = 65536
RETRANSMIT_S = 0.3
"""What a lost packet costs a connection."""


@dataclass(frozen=True, slots=True)
class Weather:
    """How long each piece takes, in seconds, and the share of pieces that are lost once."""

    latency_s: float = 0.0
    loss: float = 0.0


class Frames:
    """Follows what a server says over a WebSocket, and knows where a frame ends."""

    def __init__(self) -> None:
        self._rest = b""
        self._body = 0
        self._greeted = False

    @property
    def between(self) -> bool:
        """Whether another frame may begin here."""
        return self._greeted and not self._rest and not self._body

    def feed(self, data: bytes) -> None:
        """More of what the server says."""
        self._rest += data
        if not self._greeted:
            _, self._greeted, self._rest = self._cut_greeting()
        while self._greeted and self._rest:
            passed = min(self._body, len(self._rest))
            self._rest, self._body = self._rest[passed:], self._body - passed
            if self._body or not self._read_head():
                return

    def _cut_greeting(self) -> tuple[bytes, bool, bytes]:
        head, end, rest = self._rest.partition(b"\r\n\r\n")
        return (head, True, rest) if end else (b"", False, self._rest)

    def _read_head(self) -> bool:
        if len(self._rest) < 2:
            return False
        length, size = self._rest[1] & 127, 2
        for mark, form in ((126, ">H"), (127, ">Q")):
            if length == mark:
                size = 2 + struct.calcsize(form)
                if len(self._rest) < size:
                    return False
                (length,) = struct.unpack(form, self._rest[2:size])
                break
        self._rest, self._body = self._rest[size:], length
        return True


class Wire:
    """One connection from a browser to the site."""

    def __init__(self, network: Network, reader: asyncio.StreamReader, page: asyncio.StreamWriter):
        self.network = network
        self.is_socket = False
        self.dead = network.dead
        self.gone = False
        self._reader = reader
        self._page = page
        self._site: asyncio.StreamWriter | None = None
        self._frames = Frames()
        self._closing: bytes | None = None

    async def run(self) -> None:
        """Until either side is done."""
        first = await self._reader.read(CHUNK_BYTES)
        self.is_socket = b"upgrade: websocket" in first.lower()
        self.network.sockets += self.is_socket
        if self.is_socket and self.network.without_sockets:
            return
        await self._swallow_while_dead()
        try:
            from_site, self._site = await asyncio.open_connection("127.0.0.1", self.network.target)
        except OSError:
            return
        self._site.write(first)
        pumps = [
            asyncio.create_task(self._pump(self._reader, self._to_site)),
            asyncio.create_task(self._pump(from_site, self._to_page)),
        ]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        await self._swallow_while_dead()
        for pump in pumps:
            pump.cancel()
        await asyncio.wait(pumps)

    def close(self, code: int | None) -> None:
        """Say to the page, as soon as a frame may begin, that the socket is closed."""
        payload = b"" if code is None else struct.pack(">H", code)
        self._closing = bytes([0x88, len(payload)]) + payload
        if self._frames.between:
            self._say_closed()

    def end(self) -> None:
        """Let go of both sides."""
        self.gone = True
        for writer in (self._page, self._site):
            if writer is not None:
                writer.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, put: Callable[[bytes], None]) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while data := await source.read(CHUNK_BYTES):
            delay = self.network.delay()
            if not delay and due <= loop.time():
                put(data)
                continue
            due = max(due, loop.time() + delay)
            loop.call_at(due, put, data)
        await asyncio.sleep(due - loop.time())

    def _to_site(self, data: bytes) -> None:
        if self.dead or self.gone:
            return
        assert self._site is not None
        if self._closing is None:
            self._site.write(data)
        else:
            self.end()  # the page has said that it closes too

    def _to_page(self, data: bytes) -> None:
        if self.dead or self.gone:
            return
        ended = self._closing is not None and self._frames.between
        if ended:
            return
        if self.is_socket:
            self._frames.feed(data)
        elif self.network.keepable:
            data = data.replace(b"no-store", b"no-cache")
        self._page.write(data)
        if self._closing is not None and self._frames.between:
            self._say_closed()

    def _say_closed(self) -> None:
        assert self._closing is not None
        self._page.write(self._closing)

    async def _swallow_while_dead(self) -> None:
        """A dead connection stays open for both sides, and nothing passes any more."""
        if self.dead:
            await asyncio.Event().wait()


class Network:
    """`url` is the site's, for browsers that are to go through here."""

    def __init__(self, site_url: str, seed: int = 0) -> None:
        self.target = int(site_url.rpartition(":")[2].strip("/"))
        self.url = ""
        self.sockets = 0
        """How many WebSockets browsers have asked for."""
        self.dead = False
        self.weather = Weather()
        self.without_sockets = False
        """Whether WebSockets are refused, as by a proxy that does not know them."""
        self.keepable = False
        """Whether pages lose the header by which a browser must not keep them."""
        self._rng = random.Random(seed)  # noqa: S311 - not a secret
        self._wires: set[Wire] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(PATIENCE_S)

    def close_sockets(self, code: int | None) -> None:
        """Every open WebSocket is closed towards its page with this code, or with none."""

        def close() -> None:
            for wire in self._wires:
                if wire.is_socket:
                    wire.close(code)

        self._do(close)

    def cut(self) -> None:
        """Every connection breaks without a word."""

        def cut() -> None:
            for wire in self._wires:
                wire.end()

        self._do(cut)

    def die(self) -> None:
        """From now on nothing passes and nobody is told."""

        def die() -> None:
            self.dead = True
            for wire in self._wires:
                wire.dead = True

        self._do(die)

    def live(self) -> None:
        """New connections work again; those that died stay as they are."""
        self._do(lambda: setattr(self, "dead", False))

    def delay(self) -> float:
        """What the next piece must wait, in seconds."""
        lost = self._rng.random() < self.weather.loss
        return self.weather.latency_s + RETRANSMIT_S * lost

    def _do(self, act: Callable[[], object]) -> None:
        done = threading.Event()

        def run() -> None:
            act()
            done.set()

        self._loop.call_soon_threadsafe(run)
        assert done.wait(PATIENCE_S)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._end.wait()
        server.close()
        for wire in list(self._wires):
            wire.end()

    async def _connected(self, reader: asyncio.StreamReader, page: asyncio.StreamWriter) -> None:
        wire = Wire(self, reader, page)
        self._wires.add(wire)
        try:
            with contextlib.suppress(OSError):
                await wire.run()
        finally:
            self._wires.discard(wire)
            wire.end()
