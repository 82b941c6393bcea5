"""What a process notices at every beat, and what it does when it cannot beat."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import OperationalError
from pytest_django import Settings

from chat.db import in_db
from chat.link import heart, lease
from chat.link.hub import Hub
from chat.models import Conversation, Process
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


async def test_a_database_that_does_not_answer_fences_the_process_in_time(
    agent: DirectedAgent,
    make_hub: MakeHub,
    conversation: Conversation,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.OWNER_TTL_S = 3
    hub = await make_hub()
    await hub.open(conversation.pk)
    await until(lambda: agent.server.connections_now == 1)
    link = hub.links[conversation.pk]
    hangs: asyncio.Future[None] = hub.loop.create_future()
    right = in_db

    async def hanging(work: Callable[..., object], *args: object) -> object:
        if work is lease.beat:
            await hangs
        return await right(work, *args)

    monkeypatch.setattr(heart, "in_db", hanging)
    await asyncio.wait([link.task])
    assert link._fenced
    await until(lambda: agent.server.connections_now == 0)
    hangs.set_result(None)
    monkeypatch.setattr(heart, "in_db", right)
    await until(lambda: conversation.pk not in hub.links)

    async def owned_anew() -> bool:
        """It lives again; a claim before the beat that came late is fenced by it too."""
        return await hub.open(conversation.pk) and agent.server.connections_now == 1

    await until(owned_anew)


async def test_a_claim_that_took_longer_than_the_last_beat_counts_is_not_taken_up(
    agent: DirectedAgent, hub: Hub, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else may have claimed it meanwhile: there would be two connections."""
    right_beat, right_claim = lease.beat, lease.claim
    silent = False

    def beat(process_id: UUID) -> bool:
        if silent:
            raise OperationalError("away")
        return right_beat(process_id)

    def claim(conversation_id: int, process_id: UUID, ttl: timedelta) -> int | None:
        nonlocal silent
        epoch, silent = right_claim(conversation_id, process_id, ttl), True
        while hub.heart.is_fresh:
            time.sleep(0.01)
        return epoch

    monkeypatch.setattr(lease, "beat", beat)
    monkeypatch.setattr(lease, "claim", claim)
    hub.ttl = timedelta(seconds=1)
    assert not await hub.open(conversation.pk)
    monkeypatch.setattr(lease, "claim", right_claim)
    assert not await hub.open(conversation.pk)
    assert not hub.links
    silent = False
    await until(lambda: hub.open(conversation.pk))
    await until(lambda: agent.server.connections_now == 1)


async def test_a_heartbeat_that_fails_once_costs_nothing(
    agent: DirectedAgent, hub: Hub, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    await hub.open(conversation.pk)
    link = hub.links[conversation.pk]
    left = [OperationalError("away"), OperationalError("away")]
    right = lease.beat

    def failing(process_id: object) -> bool:
        if left:
            raise left.pop()
        return right(process_id)  # type: ignore[arg-type]

    monkeypatch.setattr(lease, "beat", failing)
    await until(lambda: not left)
    await until(lambda: agent.server.connections_now == 1)
    assert hub.links[conversation.pk] is link


async def test_a_process_whose_row_was_deleted_starts_over(
    agent: DirectedAgent, hub: Hub, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    page = await open_page()
    await until(lambda: connected(page))
    link = hub.links[conversation.pk]
    await in_db(lambda: Process.objects.all().delete())
    await until(lambda: hub.links.get(conversation.pk) not in (None, link))
    assert link._fenced
    assert hub.links[conversation.pk].epoch > link.epoch
    asked = await say("@told a")
    (await agent.part("a")).append("works").finish()
    await until(lambda: page.text(asked) == "works")
    assert agent.server.connections_peak == 1


async def test_a_lost_poke_is_found_by_the_heartbeat(
    agent: DirectedAgent, open_page: OpenPage, conversation: Conversation
) -> None:
    page = await open_page()
    await until(lambda: connected(page))
    asked = await in_db(store.accept, conversation, "@told a", "c1")
    (await agent.part("a")).append("found").finish()
    await until(lambda: page.text(asked.request_id) == "found")


async def test_a_takeover_that_nobody_told_of_ends_the_old_link(
    agent: DirectedAgent, hub: Hub, make_hub: MakeHub, conversation: Conversation
) -> None:
    await hub.open(conversation.pk)
    link = hub.links[conversation.pk]
    other = await make_hub()
    await in_db(lambda: Conversation.objects.update(owner_id=other.process_id, owner_epoch=99))
    await asyncio.wait([link.task])
    # The other one has no link either, and so may have given the conversation up by now.
    assert await in_db(owner_of, conversation) != hub.process_id


async def test_a_page_far_from_its_owner_holds_the_link(
    agent: DirectedAgent,
    hub: Hub,
    make_hub: MakeHub,
    open_page: OpenPage,
    conversation: Conversation,
    settings: Settings,
) -> None:
    settings.LINK_LINGER_S = 0
    await hub.open(conversation.pk)
    link = hub.links.get(conversation.pk)
    assert link is not None
    link.present("the test")
    other = await make_hub()
    page = await open_page(at=other)
    await until(lambda: str(other.process_id) in link._presence)
    await page.close()
    link.absent("the test")
    await until(lambda: str(other.process_id) not in link._presence)
    await asyncio.wait([link.task])


async def test_a_page_whose_owner_died_unheard_finds_the_next(
    agent: DirectedAgent,
    hub: Hub,
    make_hub: MakeHub,
    open_page: OpenPage,
    conversation: Conversation,
) -> None:
    await hub.open(conversation.pk)
    other = await make_hub()
    page = await open_page(at=other)
    await crash(hub)
    await in_db(lambda: Process.objects.filter(id=hub.process_id).delete())
    await until(lambda: conversation.pk in other.links)
    await until(lambda: connected(page))
