"""Somebody who comes through the proxy, over TLS and by the site's name."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookies import SimpleCookie
from urllib.parse import urlencode

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from tests.deployment.nginx import HOST, Nginx
from tests.link.view import Shown, View
from tests.processes import PATIENCE_S

COME_BACK_S = 0.2
LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    location: str
    text: str


class Guest:
    """A browser without scripts. `source` is the address that the proxy sees; what it adds to
    every request is in `forged`.
    """

    def __init__(self, nginx: Nginx, *, source: str = "127.0.0.1") -> None:
        self.nginx = nginx
        self.forged: dict[str, str] = {}
        self.key = ""
        self._source = source
        self._cookies: dict[str, str] = {}
        self._trust = ssl.create_default_context(cafile=str(nginx.certificate))

    def get(self, path: str) -> Answer:
        return self._ask("GET", path, None, {})

    def post(self, path: str, fields: dict[str, str], *, htmx: bool = False) -> Answer:
        headers = {"X-CSRFToken": self._cookies.get("csrftoken", "")}
        if htmx:
            headers["HX-Request"] = "true"
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return self._ask("POST", path, urlencode(fields), headers)

    def log_in(self, name: str, password: str) -> Answer:
        """By the form, as everybody. Learns the conversation's key where it succeeds."""
        self.get("/accounts/login/")
        answer = self.post("/accounts/login/", {"username": name, "password": password})
        if answer.status == 302:
            self.key = self.get("/").location.strip("/").removeprefix("c/")
        return answer

    def send(self, text: str, client_id: str) -> Answer:
        fields = {"text": text, "client_id": client_id}
        return self.post(f"/c/{self.key}/messages/", fields, htmx=True)

    @asynccontextmanager
    async def socket(self) -> AsyncIterator[ClientConnection]:
        """The page's socket, which says nothing by itself, not even a ping."""
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        async with connect(
            f"wss://{self.nginx.address}/ws/c/{self.key}/",
            host="127.0.0.1",
            port=self.nginx.port,
            ssl=self._trust,
            server_hostname=HOST,
            origin=f"https://{self.nginx.address}",  # type: ignore[arg-type]
            additional_headers={"Cookie": cookies},
            proxy=None,
            compression=None,
            max_size=None,
            ping_interval=None,
        ) as socket:
            yield socket

    def _ask(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Answer:
        raw = socket.create_connection(
            ("127.0.0.1", self.nginx.port), PATIENCE_S, source_address=(self._source, 0)
        )
        connection = http.client.HTTPSConnection(HOST, self.nginx.port, context=self._trust)
        connection.sock = self._trust.wrap_socket(raw, server_hostname=HOST)
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        own = {"Cookie": cookies, "Origin": f"https://{self.nginx.address}"}
        try:
            connection.request(method, path, body, {**own, **headers, **self.forged})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        for line in answer.headers.get_all("Set-Cookie", []):
            for name, morsel in SimpleCookie(line).items():
                assert morsel["secure"], line
                self._cookies[name] = morsel.value
        return Answer(answer.status, answer.headers.get("Location", ""), text)


class Tab(View):
    """An open page: shows what is pushed, and comes back by itself. `opened` counts its sockets."""

    def __init__(self, guest: Guest) -> None:
        super().__init__()
        self.opened = 0
        self._guest = guest
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Tab:
        self._task = asyncio.create_task(self._stay())
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait([self._task])

    async def until_answered(self, text: str) -> None:
        """Until an answer with that text in it is complete."""
        await self._until(
            lambda: any(text in b.text and b.state == "final" for b in self._answers())
        )

    async def until_answered_at_length(self, characters: int) -> None:
        """Until there is an answer of that many characters."""
        await self._until(lambda: any(len(b.text) >= characters for b in self._answers()))

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                assert self._task is not None
                assert not self._task.done(), self._task
                await asyncio.sleep(LOOK_EVERY_S)

    def _answers(self) -> list[Shown]:
        return [bubble for bubble in self.order if bubble.role == "agent"]

    async def _stay(self) -> None:
        while True:
            try:
                async with self._guest.socket() as socket:
                    self.opened += 1
                    await socket.send(json.dumps({"type": "hello", "revision": self.revision}))
                    async for push in socket:
                        self.apply(str(push))
            except (OSError, WebSocketException, TimeoutError):
                pass
            await asyncio.sleep(COME_BACK_S)
