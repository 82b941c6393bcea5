"""A real WebSocket server that does what a test tells it, in place of an agent-server.

For every test that needs an agent-server to misbehave, or to behave in one exact way.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from inspect import isawaitable
from typing import Any, Self

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from chat.agentserver.events import Json
from tests.processes import PATIENCE_S


class Silence:
    """The type of `SILENCE`."""


SILENCE = Silence()
"""As an answer: none at all."""


@dataclass
class Refusal:
    """As an answer: an `invokeError` with these fields."""

    error: str
    cancelled: bool = False
    markdown: str | None = None


type Answer = Json | Refusal | Silence
type Answerer = Callable[..., Answer | Awaitable[Answer]]
"""Called with the arguments of the invoke."""


@dataclass
class Received:
    """A frame from a client, with the connection (0, 1, ...) on which it came."""

    connection: int
    channel: str
    message: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.message.get("name", ""))

    @property
    def args(self) -> list[Json]:
        return list(self.message.get("args", []))


@dataclass
class ScriptedServer:
    """Use as an async context manager; `url` is known inside.

    `answers` maps methods to what they answer: a value, a `Refusal`, `SILENCE`, or a function of
    the arguments. `joinConversation` of the default table joins "c1" or what is asked for.
    """

    answers: dict[str, Answer | Answerer] = field(default_factory=dict)
    refuse_with: int | None = None
    """An HTTP status for every upgrade from now on."""
    location: str = ""
    """Where a refusal with a 3xx status points."""
    hang_upgrades: bool = False
    """Leave every upgrade without any answer."""
    mute: bool = False
    """Read frames, and answer none of them."""

    received: list[Received] = field(default_factory=list)
    raw: list[str | bytes] = field(default_factory=list)
    upgrades: list[Headers] = field(default_factory=list)
    connections: list[ServerConnection] = field(default_factory=list)
    live: int = 0
    peak: int = 0
    url: str = ""

    async def __aenter__(self) -> Self:
        self.answers = {"joinConversation": joined, "leaveConversation": None} | self.answers
        self._changed = asyncio.Condition()
        self._released = asyncio.Event()
        self._working: list[asyncio.Task[None]] = []
        self._server = await self._listen(0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}/"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Refuse connections from now on and end those that are open, without a close frame."""
        self._released.set()
        for task in self._working:
            task.cancel()
        self.drop()
        self._server.close(close_connections=True)
        await self._server.wait_closed()

    async def start_again(self) -> None:
        """Listen anew, on the same port, after `stop`."""
        self._released.clear()
        self._server = await self._listen(self.port)

    @property
    def connection(self) -> ServerConnection:
        """The newest connection."""
        return self.connections[-1]

    def let_go(self) -> None:
        """Let the upgrades go on that `hang_upgrades` has held so far."""
        self._released.set()

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside the test; it is cancelled when the server stops."""
        self._working.append(asyncio.create_task(work))

    def drop(self) -> None:
        """End every connection as a crash does: no close frame, 1006 at the other side."""
        for connection in self.connections:
            connection.transport.abort()

    def stop_reading(self) -> None:
        """Leave the newest connection half open: pings reach it, and are not seen."""
        self.connection.transport.pause_reading()

    async def push(self, name: str, *args: Json, conversation: str = "c1") -> None:
        """Send a `clientio` call to the newest connection."""
        message = {"type": "call", "callId": 0, "name": name, "args": list(args)}
        await self.send({"name": f"clientio:{conversation}", "message": message})

    async def invoke(self, channel: str, name: str, *args: Json, call_id: int = 0) -> None:
        """Invoke something of the client on the newest connection; see `wait_for_answer`."""
        message = {"type": "invoke", "callId": call_id, "name": name, "args": list(args)}
        await self.send({"name": channel, "message": message})

    async def send(self, frame: Json) -> None:
        """Send any frame: text and bytes as they are, everything else as JSON."""
        data = frame if isinstance(frame, str | bytes) else json.dumps(frame)
        await self.connection.send(data, text=True)

    async def wait_for(self, name: str, times: int = 1) -> Received:
        """The `times`-th invoke or call of this name, waiting for it if need be."""
        return await self._wait(lambda: [f for f in self.received if f.name == name], times)

    async def wait_for_answer(self, call_id: int = 0, times: int = 1) -> dict[str, Any]:
        """The client's answer to an `invoke` of ours."""
        kinds = ("invokeResult", "invokeError")
        found = await self._wait(
            lambda: [
                f
                for f in self.received
                if f.message["type"] in kinds and f.message["callId"] == call_id
            ],
            times,
        )
        return found.message

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds; it is looked at whenever something happens here."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(condition)

    async def _wait(self, find: Callable[[], Iterable[Received]], times: int) -> Received:
        await self.wait_until(lambda: len(list(find())) >= times)
        return list(find())[times - 1]

    async def _listen(self, port: int) -> Server:
        return await serve(
            self._serve,
            "127.0.0.1",
            port,
            process_request=self._upgrade,
            ping_interval=None,
            close_timeout=1,
            max_size=None,
            compression=None,
        )

    async def _upgrade(self, connection: ServerConnection, request: Request) -> Response | None:
        self.upgrades.append(request.headers)
        await self._notify()
        if self.hang_upgrades:
            await self._released.wait()
        if self.refuse_with is None:
            return None
        response = connection.respond(HTTPStatus(self.refuse_with), "no\n")
        if self.location:
            response.headers["Location"] = self.location
        return response

    async def _serve(self, connection: ServerConnection) -> None:
        number = len(self.connections)
        self.connections.append(connection)
        self.live += 1
        self.peak = max(self.peak, self.live)
        await self._notify()
        with suppress(ConnectionClosed):
            async for data in connection:
                self.raw.append(data)
                frame = json.loads(data)
                self.received.append(Received(number, frame["name"], frame["message"]))
                await self._notify()
                await self._answer(connection, self.received[-1])
        self.live -= 1
        await self._notify()

    async def _answer(self, connection: ServerConnection, frame: Received) -> None:
        if self.mute or frame.message["type"] != "invoke":
            return
        answer = self.answers.get(frame.name, Refusal(f"No invoke handler {frame.name}"))
        if callable(answer):
            answer = answer(*frame.args)
        if isawaitable(answer):
            # Answered when it is ready; the frames behind it need not wait.
            self.background(self._send_later(connection, frame, answer))
        else:
            await self._send_answer(connection, frame, answer)

    async def _send_later(
        self, connection: ServerConnection, frame: Received, answer: Awaitable[Answer]
    ) -> None:
        with suppress(ConnectionClosed):
            await self._send_answer(connection, frame, await answer)

    async def _send_answer(
        self, connection: ServerConnection, frame: Received, answer: Answer
    ) -> None:
        if answer is SILENCE:
            return
        message: dict[str, Json] = {"callId": frame.message["callId"]}
        if isinstance(answer, Refusal):
            message |= {"type": "invokeError", "error": answer.error}
            message |= {"cancelled": True} if answer.cancelled else {}
            message |= {"errorMarkdown": answer.markdown} if answer.markdown else {}
        else:
            message |= {"type": "invokeResult"}
            message |= {} if answer is None else {"result": answer}
        await connection.send(json.dumps({"name": frame.channel, "message": message}))

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def joined(options: dict[str, Json] | None = None, **more: Json) -> Json:
    """What `joinConversation` answers."""
    return {
        "connectionId": "0",
        "conversationId": (options or {}).get("conversationId") or "c1",
        "name": "default",
        "pendingInteractions": [],
        **more,
    }
