"""A client of the wire for tests: small, strict, and unaware of the product's own client."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.processes import PATIENCE_S

type Json = Any


class Refused(Exception):  # noqa: N818 - reads as a fact in `pytest.raises(Refused, match=...)`
    """An `invokeError`."""


class Wire:
    """One socket. Everything received is in `frames`, in order."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.frames: list[dict[str, Json]] = []
        self.conversation_id = ""
        self.connection_id = ""
        self.closed = asyncio.Event()
        self._calls = 0
        self._arrived = asyncio.Event()
        self._reader = asyncio.create_task(self._read())

    async def send(self, frame: Json) -> None:
        """Send a frame, or a text as it is."""
        await self.socket.send(frame if isinstance(frame, (str, bytes)) else json.dumps(frame))

    async def begin(self, channel: str, method: str, *args: Json) -> int:
        """Send an invoke and give its call id."""
        self._calls += 1
        message = {"type": "invoke", "callId": self._calls, "name": method, "args": list(args)}
        await self.send({"name": channel, "message": message})
        return self._calls

    async def answer(self, channel: str, call_id: int) -> Json:
        """The result of an invoke; `None` for an absent one. Raises Refused."""

        def is_answer(frame: dict[str, Json]) -> bool:
            message = frame["message"]
            kinds = ("invokeResult", "invokeError")
            same = frame["name"] == channel and message.get("callId") == call_id
            return same and message["type"] in kinds

        message = (await self.until(is_answer))["message"]
        if message["type"] == "invokeError":
            raise Refused(message["error"])
        return message.get("result")

    async def server(self, method: str, *args: Json) -> Json:
        """Invoke a method of the agent-server."""
        return await self.answer("agent-server", await self.begin("agent-server", method, *args))

    async def ask(self, method: str, *args: Json) -> Json:
        """Invoke a method of the joined conversation."""
        channel = f"dispatcher:{self.conversation_id}"
        return await self.answer(channel, await self.begin(channel, method, *args))

    async def call(self, method: str, *args: Json) -> None:
        """Send a call to the joined conversation."""
        message = {"type": "call", "callId": 0, "name": method, "args": list(args)}
        await self.send({"name": f"dispatcher:{self.conversation_id}", "message": message})

    async def join(self, conversation_id: str | None = None, **options: Json) -> Json:
        """Join; the default conversation if none is named."""
        named = {} if conversation_id is None else {"conversationId": conversation_id}
        result = await self.server("joinConversation", {**named, **options})
        self.conversation_id = result["conversationId"]
        self.connection_id = result["connectionId"]
        return result

    async def submit(self, text: str, client_id: str = "c") -> Json:
        """Submit a command and give the accepted entry."""
        return (await self.ask("submitCommand", text, None, None, client_id))["entry"]

    async def complete(self, client_id: str = "c") -> Json:
        """The result of the command with this client id, once it has ended."""

        def is_end(frame: dict[str, Json]) -> bool:
            message = frame["message"]
            if message.get("name") != "notify" or message["args"][1] != "commandComplete":
                return False
            return bool(message["args"][0].get("clientRequestId") == client_id)

        return (await self.until(is_end))["message"]["args"][2]["result"]

    async def run(self, text: str, client_id: str = "c") -> Json:
        """Submit a command and wait for its end; gives its result."""
        await self.submit(text, client_id)
        return await self.complete(client_id)

    async def event(self, name: str) -> list[Json]:
        """The arguments of the first call of that name, past or to come."""
        frame = await self.until(lambda frame: bool(frame["message"].get("name") == name))
        args: list[Json] = frame["message"]["args"]
        return args

    async def until(self, wanted: Callable[[dict[str, Json]], bool]) -> dict[str, Json]:
        """The first frame that is wanted, past or to come."""
        seen = 0
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for frame in self.frames[seen:]:
                    if wanted(frame):
                        return frame
                seen = len(self.frames)
                self._arrived.clear()
                await self._arrived.wait()

    def names(self) -> list[str]:
        """The names of all calls received so far."""
        return [f["message"]["name"] for f in self.frames if f["message"]["type"] == "call"]

    def calls(self, name: str) -> list[list[Json]]:
        """The arguments of every call of a name so far."""
        return [f["message"]["args"] for f in self.frames if f["message"].get("name") == name]

    def shown(self) -> list[Json]:
        """All content shown so far, in order."""
        names = ("setDisplay", "appendDisplay")
        messages = [f["message"] for f in self.frames if f["message"].get("name") in names]
        return [m["args"][0]["message"] for m in messages]

    async def drop(self) -> None:
        """Cut the socket off."""
        self.socket.transport.abort()
        await self.close()

    async def close(self) -> None:
        """Close and wait for the end of reading."""
        await self.socket.close()
        await self._reader

    async def _read(self) -> None:
        try:
            async for data in self.socket:
                self.frames.append(json.loads(data))
                self._arrived.set()
        except ConnectionClosed:
            pass
        self.closed.set()


@contextlib.asynccontextmanager
async def wire(url: str, *, join: bool = True) -> AsyncIterator[Wire]:
    """A connected client, by default joined to the default conversation."""
    client = Wire(await connect(url, proxy=None, compression=None, max_size=None))
    try:
        if join:
            await client.join()
        yield client
    finally:
        await client.close()


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait for something of the server that no frame tells."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.005)
