"""A scripted server, and clients of it that are closed at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from chat.agentserver.client import AgentServerClient
from chat.agentserver.events import Event
from tests.agentserver.scripted import ScriptedServer
from tests.processes import PATIENCE_S


class Client(AgentServerClient):
    """Keeps what it is told: `events` in order, `closes` with their codes."""

    def __init__(self, url: str, **options: Any) -> None:
        self.events: list[Event] = []
        self.closes: list[int | None] = []
        self._told = asyncio.Event()
        super().__init__(url, on_event=self._keep_event, on_close=self._keep_close, **options)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds; it is looked at whenever the client is told something."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._told.clear()
                await self._told.wait()

    async def until_closed(self, times: int = 1) -> None:
        await self.until(lambda: len(self.closes) >= times)

    def _keep_event(self, event: Event) -> None:
        self.events.append(event)
        self._told.set()

    def _keep_close(self, code: int | None) -> None:
        self.closes.append(code)
        self._told.set()


type MakeClient = Callable[..., Client]


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        yield scripted


@pytest.fixture
async def make_client(server: ScriptedServer) -> AsyncIterator[MakeClient]:
    made: list[Client] = []

    def make(url: str | None = None, **options: Any) -> Client:
        made.append(Client(url or server.url, **options))
        return made[-1]

    yield make
    for client in made:
        await client.close()


@pytest.fixture
async def client(make_client: MakeClient) -> Client:
    """A client that has joined "c1"."""
    connected = make_client()
    await connected.connect()
    await connected.join("c1")
    return connected
