"""From the claim to the release: trying again, leaving, and one connection at every moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from pytest_django import Settings

from chat.db import in_db
from chat.link import link as link_module
from chat.link.hub import Hub
from chat.link.upstream import Upstream
from chat.models import Conversation, LinkState
from tests.agentserver.scripted import SILENCE, ScriptedServer, joined
from tests.link.conftest import OpenPage, Say
from tests.link.directed import DirectedAgent
from tests.link.frames import Sends, entry
from tests.link.page import Page
from tests.link.wait import until
from tests.transcript.told import asked

pytestmark = pytest.mark.django_db(transaction=True)


def _connected(page: Page) -> bool:
    return page.connection == "connected"


def _state(conversation: Conversation) -> tuple[str, str]:
    conversation.refresh_from_db()
    return conversation.link_state, conversation.link_error


async def _in_handshake(server: ScriptedServer) -> None:
    server.hang_upgrades = True


async def _in_join(server: ScriptedServer) -> None:
    server.answers["joinConversation"] = SILENCE


async def _in_search(server: ScriptedServer) -> None:
    server.answers["listConversations"] = SILENCE


async def _in_history(server: ScriptedServer) -> None:
    server.answers["getDisplayHistory"] = SILENCE


async def _in_submit(server: ScriptedServer) -> None:
    server.answers["submitCommand"] = SILENCE


async def _away(server: ScriptedServer) -> None:
    server.refuse_with = 503


@pytest.mark.parametrize(
    ("hang", "seen"),
    [
        (_in_handshake, ""),
        (_in_search, "listConversations"),
        (_in_join, "joinConversation"),
        (_in_history, "getDisplayHistory"),
        (_in_submit, "submitCommand"),
        (_away, ""),
    ],
)
async def test_closing_does_not_wait_for_a_server_that_says_nothing(
    scripted: ScriptedServer,
    hub: Hub,
    say: Say,
    conversation: Conversation,
    settings: Settings,
    hang: Callable[[ScriptedServer], Awaitable[None]],
    seen: str,
) -> None:
    settings.AGENT_CONNECT_TIMEOUT_S = settings.AGENT_INVOKE_TIMEOUT_S = 3600
    await hang(scripted)
    await say("hello")
    await scripted.wait_until(lambda: bool(scripted.upgrades))
    if seen:
        await scripted.wait_for(seen)
    link = hub.links[conversation.pk]
    async with asyncio.timeout(5):
        await link.close()
    await link.close()
    scripted.let_go()
    assert conversation.pk not in hub.links
    await until(lambda: in_db(lambda: _state(conversation)[0] == LinkState.CLOSED))
    await until(lambda: scripted.live == 0)


async def test_a_fenced_link_ends_without_a_word(
    scripted: ScriptedServer, hub: Hub, say: Say, conversation: Conversation, settings: Settings
) -> None:
    settings.AGENT_INVOKE_TIMEOUT_S = 3600
    scripted.answers["joinConversation"] = SILENCE
    await say("hello")
    await scripted.wait_for("joinConversation")
    link = hub.links[conversation.pk]
    link.fence()
    await asyncio.wait([link.task])
    assert await in_db(lambda: _state(conversation)[0]) != LinkState.CLOSED


async def test_what_an_old_socket_says_changes_nothing(
    scripted: ScriptedServer, hub: Hub, open_page: OpenPage, conversation: Conversation
) -> None:
    page = await open_page()
    await until(lambda: page.connection == "connected")
    link = hub.links[conversation.pk]
    old: list[Upstream] = []

    class Watched(Upstream):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)  # type: ignore[arg-type]
            old.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_module, "Upstream", Watched)
        for times in (2, 3):
            scripted.drop()
            await scripted.wait_for("getDisplayHistory", times)
            await until(lambda: page.connection == "connected")
    live = link.live
    old[0]._take(asked("x", "from an old socket"))
    old[0]._closed(1006)
    assert not live.strangers
    await Sends(scripted).started("y", "new")
    await until(lambda: page.of("y"))
    assert len(scripted.connections) == 3


async def test_a_link_stays_while_it_is_wanted_and_lingers(
    agent: DirectedAgent, hub: Hub, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    await say("@told a")
    part = await agent.part("a")
    link = hub.links[conversation.pk]
    link._idle_since = -1000.0
    assert link.wanted(60, 5)  # a request runs
    part.finish()
    await until(lambda: not link.live.running)
    assert link.wanted(60, 5)  # it ended just now
    link._idle_since = -1000.0
    assert not link.wanted(60, 5)
    link.present("some process")
    assert link.wanted(60, 5)
    link._idle_since = -1000.0
    assert not link.wanted(0, 5)  # not heard of for too long
    link.present("some process")
    link.absent("some process")
    assert not link.wanted(60, 5)


async def test_an_open_question_holds_the_link(
    scripted: ScriptedServer, hub: Hub, open_page: OpenPage, conversation: Conversation
) -> None:
    page = await open_page()
    await until(lambda: page.connection == "connected")
    link = hub.links[conversation.pk]
    question = {"interactionId": "i", "type": "question", "message": "?", "choices": ["A"]}
    await Sends(scripted).call("requestInteraction", question)
    await until(lambda: link.live.interactions)
    link.absent(str(hub.process_id))
    link._idle_since = -1000.0
    assert link.wanted(0, 5)
    await Sends(scripted).call("interactionResolved", "i", 0)
    await until(lambda: not link.live.interactions)


async def test_an_idle_link_goes_and_the_next_page_opens_another(
    agent: DirectedAgent,
    hub: Hub,
    open_page: OpenPage,
    conversation: Conversation,
    settings: Settings,
) -> None:
    settings.LINK_LINGER_S = 0
    page = await open_page()
    await until(lambda: page.connection == "connected")
    await page.close()
    await until(lambda: conversation.pk not in hub.links)
    await until(lambda: agent.server.connections_now == 0)
    assert await in_db(lambda: _state(conversation)[0]) == LinkState.CLOSED
    again = await open_page()
    await until(lambda: again.connection == "connected")
    assert agent.server.connections_peak == 1


async def test_one_connection_through_pages_drops_and_messages(
    agent: DirectedAgent, hub: Hub, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    for number in range(10):
        page = await open_page()
        await until(partial(_connected, page))
        if number % 3 == 2:
            agent.server.drop_all()
        if number % 2:
            await page.close()
        await hub.ask(conversation.pk, {"type": "owner.poke"})
    await until(lambda: agent.server.connections_now == 1)
    await in_db(conversation.refresh_from_db)
    await until(lambda: agent.server.clients_now(conversation.upstream_id) == 1)
    assert agent.server.clients_peak(conversation.upstream_id) == 1
    assert agent.server.connections_peak == 1


async def test_a_conversation_that_is_deleted_ends_its_link(
    agent: DirectedAgent, hub: Hub, open_page: OpenPage, conversation: Conversation
) -> None:
    page = await open_page()
    await until(lambda: page.connection == "connected")
    link = hub.links[conversation.pk]
    pk = conversation.pk
    await in_db(lambda: Conversation.objects.filter(pk=pk).delete())
    link.poke()
    await asyncio.wait([link.task])
    await until(lambda: agent.server.connections_now == 0)
    assert not await hub.open(pk)


async def test_a_link_that_is_told_of_a_running_request_at_the_join_shows_it(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    queue = {"running": None, "queued": [entry("x", "theirs", "queued")], "version": 1}
    scripted.answers["joinConversation"] = lambda o: joined(o, queueSnapshot=queue)
    page = await open_page()
    await until(lambda: page.of("x"))
    assert (page.of("x")[0].text, page.of("x")[0].state) == ("theirs", "queued")
