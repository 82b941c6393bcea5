"""One WebSocket to an agent-server, from its opening to its end. Knows frames only as text.

The only place that touches `websockets`.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import websockets
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, InvalidURI

from chat.agentserver.errors import ConnectFailed, TunnelAuthFailed

CLOSE_TIMEOUT_S = 2
"""How long a peer may take over the closing handshake before the socket is dropped."""

MAX_MISSED_PINGS = 2
ABNORMAL_CLOSURE = 1006

TUNNEL_HEADER = "X-Tunnel-Authorization"

log = logging.getLogger(__name__)

# `websockets` logs the upgrade's headers at DEBUG. This logger stands outside of the hierarchy, so
# that no setting can make it print the tunnel token.
_SILENT = logging.Logger("agent-server socket", logging.CRITICAL + 1)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and bytes that bound one socket."""

    connect_timeout_s: float
    ping_interval_s: float
    max_frame_bytes: int


class Socket(ClientConnection):
    """A WebSocket that counts the bytes that have come."""

    received = 0

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        super().data_received(data)


class Transport:
    """Reads, writes and watches one open socket, each in a task of its own.

    `on_frame` is called for each message, in order, and never again after `close`. After each,
    the tasks that it woke run before the next message is looked at. `on_end` is called once, with
    the close code, when the socket ends other than by `close`.
    """

    def __init__(
        self,
        socket: Socket,
        *,
        on_frame: Callable[[bytes], None],
        on_end: Callable[[int], None],
        ping_interval_s: float,
        context: contextvars.Context | None = None,
    ) -> None:
        self._socket = socket
        self._on_frame = on_frame
        self._on_end = on_end
        self._ping_interval_s = ping_interval_s
        self._outbox: asyncio.Queue[str | None] = asyncio.Queue()
        self._writer = spawn(self._write(), context)
        self._others = [spawn(self._read(), context), spawn(self._watch(), context)]

    def send(self, frame: str) -> None:
        """Put a frame in line. One that cannot be written any more is dropped."""
        self._outbox.put_nowait(frame)

    async def close(self) -> None:
        """Write what is in line, then close. A peer may take `CLOSE_TIMEOUT_S` over each."""
        for task in self._others:
            task.cancel()
        try:
            self._outbox.put_nowait(None)
            await asyncio.wait([self._writer], timeout=CLOSE_TIMEOUT_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await self._socket.close()
        finally:
            self._writer.cancel()
            self._socket.transport.abort()
        await self._socket.wait_closed()

    async def _read(self) -> None:
        try:
            while True:
                self._on_frame(await self._socket.recv(decode=False))
                # Whoever got an answer goes on before the next frame is handled; and a flood of
                # frames leaves the loop to others.
                await asyncio.sleep(0)
        except ConnectionClosed as closed:
            self._writer.cancel()
            self._others[1].cancel()
            self._on_end(_close_code(closed))

    async def _write(self) -> None:
        # The reader reports the end; what is still in line has nobody to go to.
        with suppress(ConnectionClosed):
            while (frame := await self._outbox.get()) is not None:
                await self._socket.send(frame)

    async def _watch(self) -> None:
        """Ping, and drop the socket when two pings in a row go unanswered.

        Done here because the library's own pings wait without end on a peer that does not read. On
        a slow line a pong waits behind what was sent before it: as long as that comes, it counts.
        """
        missed = 0
        with suppress(ConnectionClosed):
            while missed < MAX_MISSED_PINGS:
                before = self._socket.received
                try:
                    async with asyncio.timeout(self._ping_interval_s):
                        await (await self._socket.ping())
                except TimeoutError:
                    missed = missed + 1 if self._socket.received == before else 0
                else:
                    missed = 0
                    await asyncio.sleep(self._ping_interval_s)
            log.warning("the agent-server left %d pings unanswered", missed)
            self._socket.transport.abort()


def spawn(
    work: Coroutine[Any, Any, None], context: contextvars.Context | None = None
) -> asyncio.Task[None]:
    """Run something long with no context of whoever happened to ask for it, but in a copy of the
    one that is given.
    """
    own = contextvars.Context() if context is None else context.copy()
    return asyncio.create_task(work, context=own)


async def open_socket(url: str, token: str, limits: Limits) -> Socket | ConnectFailed:
    """An open socket, or why there is none.

    The failure is returned, not raised here, so that no exception that knows the address or the
    token hangs on it as its context.
    """
    headers = {TUNNEL_HEADER: f"tunnel {token}"} if token else None
    try:
        socket = await _ConnectOnce(
            url,
            create_connection=Socket,
            additional_headers=headers,
            proxy=None,
            compression=None,
            logger=_SILENT,
            open_timeout=limits.connect_timeout_s,
            close_timeout=CLOSE_TIMEOUT_S,
            ping_interval=None,
            max_size=limits.max_frame_bytes,
        )
        return cast(Socket, socket)
    except InvalidURI:
        return ConnectFailed("The agent-server's address is not a ws:// or wss:// address.")
    except InvalidStatus as refused:
        status = refused.response.status_code
        if status in (401, 403):
            return TunnelAuthFailed()
        return ConnectFailed(f"The agent-server refused the connection (HTTP {status}).")
    except TimeoutError:
        return ConnectFailed("The agent-server did not answer in time.")
    except OSError:
        return ConnectFailed("The agent-server cannot be reached.")
    except (websockets.WebSocketException, ValueError, EOFError):
        return ConnectFailed("What answered is not an agent-server.")


class _ConnectOnce(connect):
    """Follows no redirect: it would carry the tunnel token to whatever host it names."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


def _close_code(closed: ConnectionClosed) -> int:
    # When we fail the connection, over a frame too large say, our code tells why and the peer's
    # is an echo or missing.
    if closed.sent is not None and not closed.rcvd_then_sent:
        return int(closed.sent.code)
    return int(closed.rcvd.code) if closed.rcvd is not None else ABNORMAL_CLOSURE
