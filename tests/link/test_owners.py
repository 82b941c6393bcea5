"""Several processes, one owner: two hubs with a database and a layer in common."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.db import OperationalError
from pytest_django import Settings

from chat.db import in_db
from chat.link import hub as hub_module
from chat.link import lease
from chat.link.hub import Hub
from chat.models import Conversation, LinkState, Message, Process, Request
from chat.transcript import store
from tests.link.conftest import MakeHub, OpenPage, Say
from tests.link.crash import crash
from tests.link.directed import DirectedAgent
from tests.link.page import Page
from tests.link.wait import until

pytestmark = pytest.mark.django_db(transaction=True)


def owner_of(conversation: Conversation) -> object:
    conversation.refresh_from_db()
    return conversation.owner_id


def connected(page: Page) -> bool:
    return page.connection == "connected"


async def test_pages_of_two_processes_share_one_connection(
    agent: DirectedAgent,
    hub: Hub,
    make_hub: MakeHub,
    open_page: OpenPage,
    say: Say,
    conversation: Conversation,
) -> None:
    other = await make_hub()
    pages = [await open_page(), await open_page(at=other), await open_page(at=other)]
    asked = await say("@told a", at=other)
    part = await agent.part("a")
    part.append("for ", "all").finish()
    for page in pages:
        await until(partial(page.is_at_rest, asked))
        await until(partial(page.shows, asked, "for all"))
    assert [conversation.pk in each.links for each in (hub, other)] == [True, False]
    assert agent.server.connections_peak == 1


async def test_many_hubs_that_want_the_same_conversation_make_one_link(
    agent: DirectedAgent, make_hub: MakeHub, conversation: Conversation
) -> None:
    hubs = [await make_hub() for _ in range(4)]
    won = await asyncio.gather(*(hub.open(conversation.pk) for hub in hubs for _ in range(3)))
    assert sum(conversation.pk in hub.links for hub in hubs) == 1
    assert sum(won) == 3
    await until(lambda: agent.server.connections_now == 1)
    assert agent.server.connections_peak == 1


async def test_c11_a_hub_that_stops_hands_a_running_reply_over(
    agent: DirectedAgent,
    hub: Hub,
    make_hub: MakeHub,
    open_page: OpenPage,
    say: Say,
    conversation: Conversation,
) -> None:
    other = await make_hub()
    page = await open_page(at=other)
    if conversation.pk not in hub.links:  # the page came first: the other one owns it
        hub, other = other, hub
    asked = await say("@told a", at=hub)
    part = await agent.part("a")
    part.append("half, ")
    await until(lambda: page.text(asked).strip() == "half,")
    far = await open_page(at=other)
    await hub.stop()
    part.append("and ")
    await until(lambda: conversation.pk in other.links)
    part.append("half").finish()
    await until(lambda: far.is_at_rest(asked))
    assert far.text(asked) == "half, and half"
    assert await in_db(owner_of, conversation) == other.process_id
    assert agent.server.connections_peak == 1
    assert agent.server.submits == 1


async def test_c11_a_reply_of_a_process_that_died_goes_on_in_another(
    agent: DirectedAgent,
    hub: Hub,
    make_hub: MakeHub,
    open_page: OpenPage,
    say: Say,
    conversation: Conversation,
) -> None:
    asked = await say("@told a")
    part = await agent.part("a")
    part.append("before, ")
    await until(lambda: in_db(lambda: Message.objects.filter(role="agent").exists()))
    other = await make_hub()
    page = await open_page(at=other)
    await until(lambda: page.text(asked).strip() == "before,")
    await crash(hub)
    part.append("between, ")
    await in_db(lambda: Process.objects.filter(id=hub.process_id).delete())  # or its time is up
    await until(lambda: conversation.pk in other.links)
    part.append("after").finish()
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked) == "before, between, after"
    assert agent.server.submits == 1
    assert agent.server.connections_peak == 1


async def test_a_dead_owner_is_taken_over_from_when_its_time_is_up(
    agent: DirectedAgent,
    hub: Hub,
    make_hub: MakeHub,
    say: Say,
    conversation: Conversation,
    settings: Settings,
) -> None:
    await say("@told a")
    await agent.part("a")
    await crash(hub)
    settings.OWNER_TTL_S = 1
    other = await make_hub()
    await until(lambda: conversation.pk in other.links)


async def test_what_a_crash_left_is_taken_up_at_the_start_without_any_page(
    agent: DirectedAgent, conversation: Conversation, make_hub: MakeHub
) -> None:
    asked = await in_db(store.accept, conversation, "@told a", "c1")
    await make_hub()
    part = await agent.part("a")
    assert part.request_id == asked.request_id


async def test_stopping_twice_and_while_a_claim_is_made_leaves_nothing(
    agent: DirectedAgent, make_hub: MakeHub, conversation: Conversation
) -> None:
    hub = await make_hub()
    claiming = asyncio.create_task(hub.open(conversation.pk))
    await asyncio.sleep(0)
    await asyncio.gather(hub.stop(), claiming)
    assert not hub.links
    assert await in_db(owner_of, conversation) is None
    assert not await hub.open(conversation.pk)
    await hub.ask(conversation.pk, {"type": "owner.poke"})
    assert not hub.links
    assert not await in_db(lambda: Process.objects.filter(id=hub.process_id).exists())


async def test_a_caller_that_goes_away_does_not_leave_a_half_claim(
    agent: DirectedAgent, hub: Hub, conversation: Conversation
) -> None:
    asking = asyncio.create_task(hub.open(conversation.pk))
    await asyncio.sleep(0)
    asking.cancel()
    await until(lambda: conversation.pk in hub.links)


async def test_a_claim_that_fails_is_a_no(
    hub: Hub, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_args: object) -> int:
        raise OperationalError("away")

    monkeypatch.setattr(lease, "claim", failing)
    assert not await hub.open(conversation.pk)
    await hub.attach(conversation.pk, "nobody", 0)
    monkeypatch.setattr(lease, "living_owners", failing)
    await hub.attach(conversation.pk, "nobody", 0)


async def test_the_owner_channel_survives_junk_and_a_layer_that_fails(
    agent: DirectedAgent,
    hub: Hub,
    make_hub: MakeHub,
    open_page: OpenPage,
    conversation: Conversation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub_module, "LISTEN_AGAIN_S", 0.01)
    await hub.open(conversation.pk)
    await get_channel_layer().send(hub.channel, {"type": "owner.poke"})
    await get_channel_layer().send(hub.channel, {"type": "?", "conversation": 10**9})
    right, left = get_channel_layer().receive, [ConnectionError("the layer is away")]

    async def receive(channel: str) -> object:
        if channel == hub.channel and left:
            raise left.pop()
        return await right(channel)

    monkeypatch.setattr(get_channel_layer(), "receive", receive)
    other = await make_hub()
    page = await open_page(at=other)
    await until(lambda: connected(page))
    assert not left


async def test_the_hub_of_the_process_starts_once_and_again_when_it_must(
    conversation: Conversation, agent: DirectedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "START_AGAIN_S", 0.01)
    left = [OperationalError("away")]
    right = lease.register

    def failing(*args: Any, **options: Any) -> None:
        if left:
            raise left.pop()
        right(*args, **options)

    monkeypatch.setattr(lease, "register", failing)
    hub_module.poke_soon(conversation.pk)  # nobody is there
    await hub_module.startup()
    await hub_module.startup()
    here = hub_module.current()
    assert here is not None
    asked = await in_db(store.accept, conversation, "@told a", "c1")
    await asyncio.to_thread(hub_module.poke_soon, conversation.pk)
    assert (await agent.part("a")).request_id == asked.request_id
    agent.parts["a"].finish()
    await until(lambda: in_db(lambda: Request.objects.get().state == "final"))
    await hub_module.shutdown()
    await hub_module.shutdown()
    assert hub_module.current() is None
    conversation = await in_db(Conversation.objects.get)
    assert (conversation.owner_id, conversation.link_state) == (None, LinkState.CLOSED)
