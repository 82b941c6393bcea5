"""Hubs that only route, and hubs of relays that own what those ask them to open."""

from __future__ import annotations

import asyncio

import pytest
from channels.layers import get_channel_layer

from chat.db import in_db
from chat.link import lease
from chat.link.hub import Hub
from chat.models import Conversation, Process
from chat.transcript import store
from tests.link.conftest import MakeHub, OpenPage, Say
from tests.link.crash import crash
from tests.link.directed import DirectedAgent
from tests.link.wait import until
from tests.transcript import make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def web(make_hub: MakeHub) -> Hub:
    """Of a process that serves pages, with LINK_OWNERS=relay."""
    return await make_hub(owns=False)


async def test_a_page_has_a_relay_open_its_conversation(
    agent: DirectedAgent, web: Hub, hub: Hub, open_page: OpenPage, say: Say
) -> None:
    page = await open_page(at=web)
    asked = await say("@told a", at=web)
    part = await agent.part("a")
    part.append("far ", "away").finish()
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked) == "far away"
    assert (len(web.links), len(hub.links)) == (0, 1)
    assert agent.server.connections_peak == 1


async def test_a_message_alone_has_a_relay_open_its_conversation(
    agent: DirectedAgent, web: Hub, hub: Hub, say: Say
) -> None:
    asked = await say("@told a", at=web)
    assert (await agent.part("a")).request_id == asked
    assert (len(web.links), len(hub.links)) == (0, 1)


async def test_what_nobody_asked_for_a_relay_finds_and_no_web_process_takes(
    agent: DirectedAgent, web: Hub, conversation: Conversation, make_hub: MakeHub
) -> None:
    asked = await in_db(store.accept, conversation, "@told a", "c1")
    await web.heart._beat()
    assert not web.links
    await make_hub()
    assert (await agent.part("a")).request_id == asked.request_id


async def test_the_relay_with_the_fewest_conversations_is_asked(
    agent: DirectedAgent, web: Hub, make_hub: MakeHub
) -> None:
    relays = [await make_hub() for _ in range(3)]
    for name in ("bob", "carol", "dan", "erin", "frank", "grace"):
        conversation = await in_db(make.conversation, name)
        await web.ask(conversation.pk, {"type": "owner.poke"})
        await until(lambda pk=conversation.pk: any(pk in relay.links for relay in relays))  # type: ignore[misc]
    assert [len(relay.links) for relay in relays] == [2, 2, 2]


async def test_of_two_web_processes_that_ask_at_once_one_relay_opens(
    agent: DirectedAgent, web: Hub, make_hub: MakeHub, conversation: Conversation
) -> None:
    webs = [web, await make_hub(owns=False)]
    relays = [await make_hub() for _ in range(2)]
    poke = {"type": "owner.poke"}
    await asyncio.gather(*(each.ask(conversation.pk, poke) for each in webs * 3))
    await until(lambda: agent.server.connections_now == 1)
    assert sum(conversation.pk in relay.links for relay in relays) == 1
    assert agent.server.connections_peak == 1


async def test_a_page_is_told_that_there_is_no_relay(
    web: Hub, make_hub: MakeHub, conversation: Conversation
) -> None:
    relay = await make_hub()
    await crash(relay)
    await in_db(lambda: Process.objects.filter(id=relay.process_id).delete())  # its time is up
    channel = await get_channel_layer().new_channel("page")
    await web.attach(conversation.pk, channel, 0)
    assert await get_channel_layer().receive(channel) == {"type": "page.unowned"}


async def test_a_page_far_from_a_relay_that_left_finds_the_next(
    agent: DirectedAgent, web: Hub, make_hub: MakeHub, open_page: OpenPage, say: Say, hub: Hub
) -> None:
    page = await open_page(at=web)
    asked = await say("@told a", at=web)
    part = await agent.part("a")
    part.append("half, ")
    await until(lambda: page.text(asked).strip() == "half,")
    other = await make_hub()
    await hub.stop()
    await until(lambda: len(other.links) == 1)
    part.append("and half").finish()
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked) == "half, and half"
    assert agent.server.connections_peak == 1


async def test_a_relay_that_is_leaving_is_not_asked(make_hub: MakeHub, web: Hub) -> None:
    relay = await make_hub()
    assert await in_db(lease.idlest, relay.ttl) == relay.channel
    await in_db(lease.step_down, relay.process_id)
    assert await in_db(lease.idlest, relay.ttl) is None
