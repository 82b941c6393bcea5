"""What the tests of the pages share: a conversation of Alice's, her browser, and a running site."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from channels.layers import channel_layers
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from chat.link import hub
from chat.localagent.server import LocalAgent
from chat.localagent.settings import Settings as AgentSettings
from chat.models import Conversation
from tests.pages.fake_owner import FakeOwner
from tests.pages.sockets import Socket
from tests.processes import Site


@pytest.fixture
def chat(alice: User) -> Conversation:
    """Alice's conversation."""
    return Conversation.objects.create(user=alice, key="alices-chat")


@pytest.fixture
def web(client: Client, alice: User) -> Client:
    """Alice's browser."""
    client.force_login(alice)
    return client


@pytest.fixture
def _fresh_layer() -> Iterator[None]:
    """Queues of a test belong to its event loop."""
    channel_layers.backends.clear()
    yield
    channel_layers.backends.clear()


@pytest.fixture
async def owner(monkeypatch: pytest.MonkeyPatch, _fresh_layer: None) -> FakeOwner:
    """In place of the hub: a test decides what a page is told, and when."""
    fake = FakeOwner()
    monkeypatch.setattr(hub, "_hub", fake)
    return fake


@pytest.fixture
async def upstream(tmp_path: Path) -> AsyncIterator[LocalAgent]:
    """An embedded agent-server that answers without taking its time."""
    quick = AgentSettings(word_delay_s=0.001, pace=0.01)
    async with LocalAgent(tmp_path, quick).serving() as server:
        yield server


@pytest.fixture
async def serving(
    settings: Settings, upstream: LocalAgent, _fresh_layer: None
) -> AsyncIterator[hub.Hub]:
    """The real hub, with `upstream` behind it."""
    settings.TYPEAGENT_SERVER_URL = upstream.url
    await hub.startup()
    running = hub.current()
    assert running is not None
    yield running
    await hub.shutdown()


@pytest.fixture
async def open_socket() -> AsyncIterator[Callable[..., Socket]]:
    """Opens sockets of the whole ASGI application; they are closed at the end."""
    sockets: list[Socket] = []

    def make(path: str, client: Client | None = None, **options: str | None) -> Socket:
        sockets.append(Socket(path, client, **options))
        return sockets[-1]

    yield make
    for socket in sockets:
        await socket.leave()


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory, static_root: Path) -> Iterator[Site]:
    """A running site that the tests of the pages share; each uses users of its own."""
    site = Site(tmp_path_factory.mktemp("pages") / "site", static_root)
    try:
        yield site.start()
    finally:
        site.close()
