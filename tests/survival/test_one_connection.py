"""Invariant 1 over several processes: whatever pages are opened where, and whoever takes over, the
agent-server sees one connection of a conversation.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.survival.cluster import Cluster
from tests.survival.conftest import StartTalk
from tests.survival.reader import Reader
from tests.survival.rounds import rounds

PAGES = 12
MESSAGES = 4


@pytest.fixture(scope="module")
def site_settings() -> dict[str, Any]:
    return {"count": 3}


@rounds()
async def test_pages_on_every_process_share_one_connection(
    talk: StartTalk, cluster: Cluster, seed: int
) -> None:
    async with talk(seed) as chat, AsyncExitStack() as stack:
        tabs = [await stack.enter_async_context(Reader(chat.person)) for _ in range(PAGES)]
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await asyncio.gather(*(chat.person.page() for _ in range(PAGES)))
        await chat.moment(1.0)
        await asyncio.to_thread(cluster.owner().terminate)
        await chat.moment(1.0)
        await asyncio.to_thread(cluster.owner().kill)
        await talking
        await chat.settle()
        for tab in tabs:
            await chat.until(
                "every page shows it", lambda tab=tab: chat.shown(tab) == chat.stored()
            )
        await chat.check()
        assert chat.peak() == 1
    for web in cluster.webs:
        if not web.running:
            await asyncio.to_thread(web.start)
