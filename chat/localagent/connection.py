"""One client's WebSocket: its channels, its calls both ways, and nothing about conversations."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from .wire import (
    Args,
    Json,
    NeverAnswered,
    WireError,
    args_json,
    call_id_of,
    error_frame,
    outgoing,
    parse_frame,
    result_frame,
)

logger = logging.getLogger(__name__)

type Handler = Callable[[Args], Json]
"""Answers an invoke: with a result, with a coroutine that gives it, or by raising WireError."""

PROTOTYPE_METHODS = frozenset(
    {"toString", "valueOf", "hasOwnProperty", "isPrototypeOf", "constructor", "toLocaleString"}
)
"""Names that a JavaScript object answers to by itself (WIRE.md 2)."""
SETTLE_TURNS = 3
"""Turns of the loop in which a command that waits for nothing runs from its start to its end."""
CHANNEL_LOST = "Agent channel disconnected"


@dataclass(slots=True)
class Channel:
    """What one channel of a socket answers to."""

    invokes: dict[str, Handler] = field(default_factory=dict)
    calls: dict[str, Callable[[Args], None]] = field(default_factory=dict)


class Connection:
    """Frames of one socket in and out, strictly in the order of sending."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.channels: dict[str, Channel] = {}
        self._numbers: defaultdict[str, int] = defaultdict(int)
        self._answering: set[tuple[str, int]] = set()
        self._asked: dict[tuple[str, int], asyncio.Future[Json]] = {}
        self._outbox: asyncio.Queue[str] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve until the socket is gone."""
        writer = asyncio.create_task(self._write())
        try:
            with contextlib.suppress(ConnectionClosed):
                async for data in self.socket:
                    self._receive(data)
                    await _let_settle()
        finally:
            self._fail_asked()
            writer.cancel()
            for task in self._tasks:
                task.cancel()

    def drop(self) -> None:
        """Cut the socket off without a close frame: the peer sees 1006."""
        self.socket.transport.abort()

    async def ping(self) -> None:
        """Send a ping and wait for the pong, or for the socket to be gone."""
        with contextlib.suppress(ConnectionClosed):
            await (await self.socket.ping())

    def open_channel(self, name: str, channel: Channel) -> None:
        """A channel begins; the server's call ids on it start at 0 (again)."""
        self.channels[name] = channel
        self._numbers.pop(name, None)

    def close_channel(self, name: str) -> None:
        """A channel ceases to exist, silently; what was asked on it fails."""
        self.channels.pop(name, None)
        for key in [key for key in self._asked if key[0] == name]:
            _fail(self._asked.pop(key))

    def call(self, channel: str, name: str, args: str) -> None:
        """Send a one-way call; the arguments are JSON text."""
        self._outbox.put_nowait(outgoing(channel, "call", self._number(channel), name, args))

    def invoke(self, channel: str, name: str, args: list[Json]) -> asyncio.Future[Json]:
        """Ask the client; the future fails with WireError for an `invokeError`, or on a loss."""
        number = self._number(channel)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._asked[channel, number] = answer
        self._outbox.put_nowait(outgoing(channel, "invoke", number, name, args_json(args)))
        return answer

    def _number(self, channel: str) -> int:
        number = self._numbers[channel]
        self._numbers[channel] = number + 1
        return number

    async def _write(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self.socket.send(await self._outbox.get())

    def _receive(self, data: str | bytes) -> None:
        frame = parse_frame(data)
        if frame is None or frame[0] not in self.channels:
            return
        name, message = frame
        call_id = call_id_of(message)
        match message.get("type"):
            case "invoke" if call_id is not None:
                self._answer(name, call_id, message)
            case "call":
                self._take_call(name, message)
            case "invokeResult" | "invokeError" if call_id is not None:
                self._settle(name, call_id, message)

    def _take_call(self, channel: str, message: dict[str, Json]) -> None:
        name, args = message.get("name"), message.get("args")
        handler = self.channels[channel].calls.get(name) if isinstance(name, str) else None
        if handler is None or not isinstance(args, list):
            return
        try:
            handler(Args(args))
        except Exception as error:  # a call has no answer that could carry it
            _error_text(error)

    def _settle(self, channel: str, call_id: int, message: dict[str, Json]) -> None:
        if message["type"] == "invokeError" and not isinstance(message.get("error"), str):
            return
        answer = self._asked.pop((channel, call_id), None)
        if answer is None or answer.done():
            return
        if message["type"] == "invokeResult":
            answer.set_result(message.get("result"))
        else:
            answer.set_exception(RemoteError(message))

    def _answer(self, channel: str, call_id: int, message: dict[str, Json]) -> None:
        if (channel, call_id) in self._answering:
            return
        name, args = message.get("name"), message.get("args")
        if not isinstance(name, str) or not isinstance(args, list):
            self._outbox.put_nowait(error_frame(channel, call_id, "Invalid invoke message"))
            return
        handler = self.channels[channel].invokes.get(name)
        if handler is None:
            self._outbox.put_nowait(_unknown_method(channel, call_id, name))
            return
        try:
            result = handler(Args(args))
        except NeverAnswered:
            return
        except Exception as error:  # whatever a client sends, its socket stays open
            self._outbox.put_nowait(error_frame(channel, call_id, _error_text(error)))
            return
        if asyncio.iscoroutine(result):
            self._answering.add((channel, call_id))
            task = asyncio.create_task(self._answer_later(channel, call_id, result))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._outbox.put_nowait(result_frame(channel, call_id, result))

    async def _answer_later(self, channel: str, call_id: int, result: Awaitable[Json]) -> None:
        try:
            frame = result_frame(channel, call_id, await result)
        except NeverAnswered:
            return
        except Exception as error:  # as above
            frame = error_frame(channel, call_id, _error_text(error))
        finally:
            self._answering.discard((channel, call_id))
        self._outbox.put_nowait(frame)

    def _fail_asked(self) -> None:
        for answer in self._asked.values():
            _fail(answer)
        self._asked.clear()


class RemoteError(WireError):
    """The client answered with an `invokeError`."""

    def __init__(self, message: dict[str, Json]) -> None:
        super().__init__(message["error"])
        self.cancelled = message.get("cancelled") is True
        markdown = message.get("errorMarkdown")
        self.markdown = markdown if isinstance(markdown, str) else None


def _error_text(error: Exception) -> str:
    if not isinstance(error, WireError):
        logger.error("a method failed", exc_info=error)
    return str(error)


async def _let_settle() -> None:
    """What a frame has begun goes as far as it can before the next frame, as on the real server."""
    for _ in range(SETTLE_TURNS):
        await asyncio.sleep(0)


def _fail(answer: asyncio.Future[Json]) -> None:
    if not answer.done():
        answer.set_exception(RemoteError({"error": CHANNEL_LOST}))


def _unknown_method(channel: str, call_id: int, name: str) -> str:
    if name in PROTOTYPE_METHODS:
        return result_frame(channel, call_id, "[object Undefined]")
    return error_frame(channel, call_id, f"No invoke handler {name}")
