"""Many messages through drops, crashes and takeovers: each is answered once, in order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import pytest
from pytest_django import Settings

from chat.db import in_db
from chat.link.hub import Hub
from chat.models import Conversation, Message, Process, Request
from chat.transcript import store
from tests.link.conftest import MakeHub
from tests.link.crash import crash
from tests.link.directed import DirectedAgent
from tests.link.page import Page
from tests.link.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

MESSAGES = 12


@pytest.fixture
async def talker(tmp_path: Path, settings: Settings) -> AsyncIterator[DirectedAgent]:
    """An agent-server that takes its time over every word."""
    async with DirectedAgent(tmp_path / "agent", word_delay_s=0.002).serving() as agent:
        settings.TYPEAGENT_SERVER_URL = agent.server.url
        yield agent


async def send_all(conversation: Conversation, hubs: list[Hub], rng: random.Random) -> list[str]:
    asked = []
    for number in range(MESSAGES):
        text = f"message {number} " + "word " * rng.randint(1, 12)
        request = await in_db(store.accept, conversation, text, str(uuid4()))
        asked.append(request.request_id)
        if rng.random() < 0.7:  # the other pokes are lost
            await hubs[-1].ask(conversation.pk, {"type": "owner.poke"})
        await asyncio.sleep(rng.random() * 0.1)
    return asked


async def drops(agent: DirectedAgent, rng: random.Random) -> None:
    while True:
        await asyncio.sleep(rng.random() * 0.15)
        agent.server.drop_all()


def all_final(conversation: Conversation) -> bool:
    states = conversation.requests.values_list("state", flat=True)
    return list(states) == ["final"] * MESSAGES


def _answers(conversation: Conversation) -> list[tuple[str, str]]:
    rows = Request.objects.filter(conversation=conversation).order_by("seq")
    return [
        (row.text, "".join(m.text for m in row.messages.filter(role="agent").order_by("step")))
        for row in rows
    ]


async def check(agent: DirectedAgent, conversation: Conversation, asked: list[str]) -> None:
    """Every message was handed in once and has its answer, and the log agrees."""
    await in_db(conversation.refresh_from_db)
    log = agent.server.history(conversation.upstream_id)
    requests = [item["requestId"]["requestId"] for item in log if item["type"] == "user-request"]
    assert requests == asked
    assert agent.server.submits == MESSAGES
    for text, answer in await in_db(_answers, conversation):
        said = " ".join(text.split())
        assert " ".join(answer.split()).count(said) == 1, (text, answer)
    places = await in_db(lambda: list(Message.objects.values_list("seq", "step")))
    assert len(places) == len(set(places))


def check_growth(page: Page, request_id: str) -> None:
    """C01: an answer only ever grows, as a reader sees it, but for the signs of life."""
    shown = [text.rstrip() for text in page.seen[request_id] if "[💬 chat]" not in text]
    for early, late in pairwise(shown):
        assert late.startswith(early)


@pytest.mark.parametrize("seed", [1, 2])
async def test_drops_lose_and_double_nothing(
    talker: DirectedAgent, hub: Hub, conversation: Conversation, seed: int
) -> None:
    rng = random.Random(seed)  # noqa: S311 - not a secret
    page = await Page(hub, conversation.pk).open()
    dropping = asyncio.create_task(drops(talker, rng))
    asked = await send_all(conversation, [hub], rng)
    await asyncio.sleep(0.3)
    dropping.cancel()
    await asyncio.wait([dropping])
    await until(lambda: in_db(all_final, conversation))
    await check(talker, conversation, asked)
    await until(lambda: [b.state for b in page.order].count("final") == 2 * MESSAGES)
    assert [b.request for b in page.order if b.role == "user"] == asked
    for request_id in asked:
        check_growth(page, request_id)
    assert talker.server.clients_peak(conversation.upstream_id) == 1
    await page.close()


@pytest.mark.parametrize("seed", [3, 4])
async def test_crashes_and_takeovers_lose_and_double_nothing(
    talker: DirectedAgent, make_hub: MakeHub, conversation: Conversation, seed: int
) -> None:
    rng = random.Random(seed)  # noqa: S311 - not a secret
    hubs = [await make_hub()]
    reader = await make_hub()
    page = await Page(reader, conversation.pk).open()

    async def kill() -> None:
        while True:
            await asyncio.sleep(0.3 + rng.random() * 0.3)
            fresh = await make_hub()
            old, hubs[:] = hubs[-1], [fresh]
            if rng.random() < 0.5:
                await old.stop()
            else:
                await crash(old)
                await in_db(lambda: Process.objects.filter(id=old.process_id).delete())  # noqa: B023

    killing = asyncio.create_task(kill())
    asked = await send_all(conversation, hubs, rng)
    killing.cancel()
    await asyncio.wait([killing])
    await until(lambda: in_db(all_final, conversation))
    await check(talker, conversation, asked)
    await until(lambda: [b.state for b in page.order].count("final") == 2 * MESSAGES)
    await page.close()
