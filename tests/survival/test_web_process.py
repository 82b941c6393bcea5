"""A process of the site ends or hangs in the middle of a conversation; another goes on with it."""

from __future__ import annotations

import asyncio

from tests.survival.cluster import Cluster, Web
from tests.survival.conftest import StartTalk
from tests.survival.rounds import USUAL, rounds
from tests.survival.talk import Talk

MESSAGES = 5
PAUSE_S = 20.0
SHORT_PAUSE_S = 6.0
"""Three times the time after which others take over."""


def victim(chat: Talk, cluster: Cluster) -> Web:
    """Mostly the owner of the conversation."""
    return cluster.owner() if chat.rng.random() < 0.8 else chat.rng.choice(cluster.running)


@rounds()
async def test_kill_9_of_a_process_loses_nothing(
    talk: StartTalk, cluster: Cluster, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(2.5)
        web = victim(chat, cluster)
        await asyncio.to_thread(web.kill)
        await chat.moment(1.5)
        await asyncio.to_thread(web.start)
        await talking
        await chat.settle()
        await chat.check()


@rounds()
async def test_sigterm_of_a_process_loses_nothing(
    talk: StartTalk, cluster: Cluster, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(2.5)
        web = victim(chat, cluster)
        assert await asyncio.to_thread(web.terminate) == 0
        await asyncio.to_thread(web.start)
        await talking
        await chat.settle()
        await chat.check()
        assert {request["state"] for request in chat.requests()} == {"final"}


@rounds()
async def test_a_paused_owner_writes_nothing_after_another_took_over(
    talk: StartTalk, cluster: Cluster, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(2.5)
        web = victim(chat, cluster)
        web.pause()
        await asyncio.sleep(SHORT_PAUSE_S if seed < USUAL else PAUSE_S)
        web.go_on()
        await talking
        await chat.settle()
        # Its socket stays open while it is paused: the agent-server cannot know.
        await chat.check(peak=2)


@rounds()
async def test_without_all_its_processes_a_site_loses_nothing(
    talk: StartTalk, cluster: Cluster, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(2.5)
        webs = cluster.running
        for web in webs:
            await asyncio.to_thread(web.kill if chat.rng.random() < 0.5 else web.terminate)
        for web in webs:
            await asyncio.to_thread(web.start)
        await talking
        await chat.settle()
        await chat.check()
