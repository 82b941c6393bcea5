"""A page's WebSocket without a browser and without a port: straight into the ASGI application."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Self

from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.db import connections
from django.test import Client

from tests.processes import PATIENCE_S

OWN_ORIGIN = "http://localhost"


class Socket:
    """`received` are the texts that came, `closed_with` the code of a close from the server."""

    def __init__(
        self, path: str, client: Client | None = None, *, origin: str | None = OWN_ORIGIN
    ) -> None:
        from chatsite.asgi import application

        headers = [(b"host", b"localhost")]
        if origin is not None:
            headers.append((b"origin", origin.encode()))
        if client is not None:
            cookie = f"{settings.SESSION_COOKIE_NAME}={client.session.session_key}"
            headers.append((b"cookie", cookie.encode()))
        self.received: list[str] = []
        self.closed_with: int | None = None
        self._open = False
        self._wire = WebsocketCommunicator(application, "/", headers=headers)
        self._wire.scope["path"] = path

    async def open(self) -> Self:
        """The upgrade. Refused, it leaves `closed_with` set."""
        accepted, code = await self._wire.connect(timeout=PATIENCE_S)
        self._open = accepted
        if not accepted:
            self.closed_with = code
        return self

    async def hello(self, revision: object = 0) -> None:
        await self.say({"type": "hello", "revision": revision})

    async def say(self, message: object) -> None:
        await self.say_text(json.dumps(message))

    async def say_text(self, text: str) -> None:
        await self._wire.send_input({"type": "websocket.receive", "text": text})

    async def say_bytes(self, data: bytes) -> None:
        await self._wire.send_input({"type": "websocket.receive", "bytes": data})

    async def next(self) -> str:
        """The next text; "" if the server closes instead."""
        try:
            output: dict[str, Any] = await self._wire.receive_output(timeout=PATIENCE_S)
        except TimeoutError:
            # The application is cancelled now. To leave it would raise that in the clean-up, which
            # keeps pytest from cleaning up anything else.
            self._open = False
            raise
        if output["type"] == "websocket.close":
            self.closed_with = output.get("code", 1000)
            return ""
        self.received.append(output["text"])
        return self.received[-1]

    async def until(self, part: str) -> str:
        """The first text from now on that contains `part`."""
        while part not in (text := await self.next()):
            assert self.closed_with is None, f"closed with {self.closed_with} before {part!r}"
        return text

    async def until_closed(self) -> int:
        """The code with which the server closes."""
        while self.closed_with is None:
            await self.next()
        return self.closed_with

    async def answers(self) -> list[str]:
        """All that came up to now: what is asked now is answered behind it."""
        seen = len(self.received)
        await self.say({"type": "ping", "n": f"mark-{seen}"})
        await self.until(f'data-n="mark-{seen}"')
        return self.received[seen:-1]

    async def leave(self) -> None:
        """As a browser does that goes away."""
        if self._open:
            self._open = False
            await self._wire.disconnect(timeout=PATIENCE_S)


async def on_the_site[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do what a view does, in such a thread as Django gives it."""

    def in_thread() -> T:
        try:
            return work(*args, **kwargs)
        finally:
            connections.close_all()

    return await sync_to_async(in_thread)()
