"""A hub, agent-servers, a conversation and pages, all in the loop of the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from channels.layers import get_channel_layer
from pytest_django import Settings

from chat.agentserver.events import Json
from chat.db import in_db
from chat.link import heart, link, tasks
from chat.link.hub import Hub
from chat.models import Conversation
from chat.transcript import store
from tests.agentserver.scripted import ScriptedServer
from tests.link.directed import DirectedAgent
from tests.link.page import Page
from tests.link.wait import until
from tests.transcript import make

type Say = Callable[..., Awaitable[str]]
type MakeHub = Callable[..., Awaitable[Hub]]
type OpenPage = Callable[..., Awaitable[Page]]


@pytest.fixture(autouse=True)
def _quick(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "RETRY_FIRST_S", 0.02)
    # Often, so that what a poke did not tell is soon found; but slow to fence on a busy machine.
    settings.OWNER_TTL_S = 12
    monkeypatch.setattr(heart, "BEATS_PER_TTL", 60)
    settings.AGENT_CONNECT_TIMEOUT_S = 2
    settings.AGENT_INVOKE_TIMEOUT_S = 5
    settings.LINK_LINGER_S = 60


@pytest.fixture(autouse=True)
async def _nothing_is_left() -> AsyncIterator[None]:
    """No task survives a test, and no channel is left in a group."""
    before = asyncio.all_tasks()
    yield
    await get_channel_layer().flush()
    await until(lambda: not tasks._running, "no task is left")
    await until(lambda: not asyncio.all_tasks() - before - {asyncio.current_task()})


@pytest.fixture
async def conversation(transactional_db: None) -> Conversation:
    return await in_db(make.conversation, "alice")


@pytest.fixture
async def agent(tmp_path: Path, settings: Settings) -> AsyncIterator[DirectedAgent]:
    """An agent-server that behaves, with output that the test directs."""
    async with DirectedAgent(tmp_path / "agent").serving() as agent:
        settings.TYPEAGENT_SERVER_URL = agent.server.url
        yield agent


def accept(text: str, *args: Json) -> Json:
    """The answer to a submit that is taken."""
    return {"ok": True, "entry": {"requestId": args[3], "text": text, "state": "running"}}


@pytest.fixture
async def scripted(settings: Settings) -> AsyncIterator[ScriptedServer]:
    """An agent-server that misbehaves as the test says."""
    answers: dict[str, Json] = {
        "getDisplayHistory": [],
        "listConversations": [],
        "createConversation": {"conversationId": "c1", "name": "made"},
        "submitCommand": accept,
        "cancelCommand": {"kind": "cancelled_running"},
        "respondToInteraction": None,
    }
    async with ScriptedServer(answers) as server:
        settings.TYPEAGENT_SERVER_URL = server.url
        yield server


@pytest.fixture
async def make_hub(transactional_db: None) -> AsyncIterator[MakeHub]:
    """Makes hubs, each as if in a process of its own."""
    async with AsyncExitStack() as stack:

        async def make_one(*, owns: bool = True) -> Hub:
            hub = Hub(owns=owns)
            await hub.start()
            stack.push_async_callback(hub.stop)
            return hub

        yield make_one


@pytest.fixture
async def hub(make_hub: MakeHub) -> Hub:
    return await make_hub()


@pytest.fixture
async def open_page(
    hub: Hub, conversation: Conversation
) -> AsyncIterator[Callable[..., Awaitable[Page]]]:
    """Opens pages, of the conversation and in the hub unless told otherwise."""
    async with AsyncExitStack() as stack:

        async def open_one(of: Conversation = conversation, *, at: Hub = hub) -> Page:
            page = await Page(at, of.pk).open()
            stack.push_async_callback(page.close)
            return page

        yield open_one


@pytest.fixture
async def say(hub: Hub, conversation: Conversation) -> Say:
    """Sends a message as the form does; gives the id of the request."""

    async def say_it(text: str, *, of: Conversation = conversation, at: Hub = hub) -> str:
        request = await in_db(store.accept, of, text, str(uuid4()))
        await at.ask(of.pk, {"type": "owner.poke"})
        return request.request_id

    return say_it
