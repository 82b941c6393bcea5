"""A WebSocket proxy of a test's own that reads every frame, and loses, repeats or adds some."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, WebSocketException

from tests.survival.loop import Loop

RECENT = 400
"""Frames of a line that are kept for whoever wants to send something like them."""


class Deed(Enum):
    """What becomes of a frame."""

    PASS = "pass"
    SWALLOW = "swallow"
    CUT = "cut"  # lost, and the connection with it
    PASS_AND_CUT = "pass and cut"  # it arrives, and then the connection is lost
    TWICE = "twice"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame as it passes. `up`: from the site to the agent-server."""

    up: bool
    channel: str
    message: dict[str, Any]

    @property
    def key(self) -> tuple[str, Any]:
        """What an answer has in common with its call."""
        return self.channel, self.message.get("callId")

    def is_call(self, name: str) -> bool:
        """Whether the site calls this method."""
        return self.up and self.message.get("name") == name

    def answers(self, call: Frame) -> bool:
        """Whether the agent-server answers this call."""
        kinds = ("invokeResult", "invokeError")
        return not self.up and self.message.get("type") in kinds and self.key == call.key


type Rule = Callable[[Frame], Deed]


@dataclass(eq=False)
class Line:
    """One connection of the site. `conversation` is the last one that it spoke of."""

    site: ServerConnection
    agent: ClientConnection
    conversation: str = ""
    graceful: bool = False
    """What was sent to the agent-server shall arrive before the end does."""
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=RECENT))


class Middle:
    """Runs in a thread of its own, from `start` to `stop`. `rule` judges each frame there."""

    def __init__(self, url: str) -> None:
        self._target = url
        self._thread = Loop()
        self._lines: list[Line] = []
        self.rule: Rule = let_pass
        self.url = ""

    def start(self) -> Self:
        """Listen on a free port of loopback."""
        self._thread.start()
        self._thread.do(self._listen())
        return self

    def stop(self) -> None:
        """Cut everything and listen no more."""
        self._thread.do(self._close())
        self._thread.stop()

    def line(self, conversation: str) -> Line | None:
        """The newest open connection on which this conversation is spoken of."""
        own = [line for line in list(self._lines) if line.conversation == conversation]
        return own[-1] if own else None

    async def inject(self, line: Line, data: str | bytes) -> bool:
        """Send the site a frame that the agent-server never sent; false if the line is gone."""
        return await self._thread.do_meanwhile(_send(line.site, data))

    async def _listen(self) -> None:
        self._server = await serve(
            self._serve,
            "127.0.0.1",
            0,
            compression=None,
            max_size=None,
            ping_interval=None,
            close_timeout=1,
        )
        port = next(iter(self._server.sockets)).getsockname()[1]
        self.url = f"ws://127.0.0.1:{port}"

    async def _close(self) -> None:
        self._server.close(close_connections=False)
        for line in self._lines:
            line.site.transport.abort()
        await self._server.wait_closed()

    async def _serve(self, site: ServerConnection) -> None:
        try:
            agent = await connect(
                self._target,
                compression=None,
                max_size=None,
                proxy=None,
                ping_interval=None,
                close_timeout=1,
            )
        except (OSError, WebSocketException):
            site.transport.abort()
            return
        line = Line(site, agent)
        self._lines.append(line)
        pumps = [asyncio.create_task(self._pump(line, up=up)) for up in (True, False)]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        self._lines.remove(line)
        site.transport.abort()
        if line.graceful:
            await agent.close()
        agent.transport.abort()
        await asyncio.wait(pumps)

    async def _pump(self, line: Line, *, up: bool) -> None:
        source, sink = (line.site, line.agent) if up else (line.agent, line.site)
        with contextlib.suppress(ConnectionClosed):
            while True:
                data = await source.recv(decode=True)
                raw = json.loads(data)
                frame = Frame(up, raw["name"], raw["message"])
                if ":" in frame.channel:
                    line.conversation = frame.channel.partition(":")[2]
                if not up:
                    line.recent.append(str(data))
                deed = self.rule(frame)
                if deed in (Deed.PASS, Deed.PASS_AND_CUT, Deed.TWICE):
                    await sink.send(data)
                if deed is Deed.TWICE:
                    raw["message"]["callId"] += 10**9
                    await sink.send(json.dumps(raw))
                if deed in (Deed.CUT, Deed.PASS_AND_CUT):
                    line.graceful = deed is Deed.PASS_AND_CUT
                    return


def let_pass(_frame: Frame) -> Deed:
    """The rule of a proxy that does nothing."""
    return Deed.PASS


async def _send(socket: ServerConnection, data: str | bytes) -> bool:
    try:
        await socket.send(data, text=True)
    except ConnectionClosed:
        return False
    return True
