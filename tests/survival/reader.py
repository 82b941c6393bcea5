"""An open page at a site of several processes: it hears what a browser would, over a WebSocket,
and comes back by itself to whichever process answers.
"""

from __future__ import annotations

import asyncio
import json
from typing import Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from tests.link.view import View
from tests.survival.cluster import Web
from tests.survival.person import Person

COME_BACK_S = 0.2
SOCKET_WAIT_S = 3.0
"""A socket that says nothing to a ping for so long is given up, as a page does it."""

MAX_BYTES = 64 * 2**20


class Reader(View):
    """`opened` counts the sockets, `pushes` what came over them."""

    socket_wait_s = SOCKET_WAIT_S

    def __init__(self, person: Person) -> None:
        super().__init__()
        self.person = person
        self.opened = 0
        self.pushes = 0
        self.socket: ClientConnection | None = None
        self.fault: BaseException | None = None
        self._task: asyncio.Task[None] | None = None

    def choose(self) -> Web | None:
        """The process to come to: any that runs, as a proxy in front has it."""
        webs = self.person.cluster.running
        return self.person.rng.choice(webs) if webs else None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._stay())
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _stay(self) -> None:
        while True:
            try:
                await self._listen()
            except (OSError, WebSocketException, TimeoutError):
                pass
            except Exception as error:
                self.fault = error  # what was pushed is not as it should be
                raise
            await asyncio.sleep(COME_BACK_S)

    async def _listen(self) -> None:
        web = self.choose()
        if web is None:
            return
        async with connect(
            f"ws://127.0.0.1:{web.port}/ws/c/{self.person.key}/",
            origin=web.url,  # type: ignore[arg-type]
            additional_headers={"Cookie": self.person.cookies},
            proxy=None,
            compression=None,
            max_size=MAX_BYTES,
            open_timeout=self.socket_wait_s,
            ping_interval=self.socket_wait_s / 2,
            ping_timeout=self.socket_wait_s,
            close_timeout=1,
        ) as socket:
            self.socket = socket
            self.opened += 1
            await socket.send(json.dumps({"type": "hello", "revision": self.revision}))
            async for push in socket:
                self.pushes += 1
                self.apply(str(push))
