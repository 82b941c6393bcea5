"""Two sites on one Redis server: neither hears what the other tells its pages."""

from __future__ import annotations

import random
import secrets

import pytest

from tests.processes import Agent
from tests.survival.cluster import REDIS, Cluster, MakeCluster
from tests.survival.person import newcomer
from tests.survival.reader import Reader
from tests.survival.rows import Rows
from tests.survival.talk import Talk

TEXT = "only for the pages of this site"


@pytest.fixture(scope="module")
def sites(make_cluster: MakeCluster, upstream: Agent) -> list[Cluster]:
    """Of one process each, with another database of Redis each, which changes nothing there."""
    return [
        make_cluster(
            upstream.url,
            count=1,
            DATABASE_URL="",
            REDIS_URL=f"redis://{REDIS[0]}:{REDIS[1]}/{number}",
            SECRET_KEY=secrets.token_urlsafe(50),
        )
        for number in range(2)
    ]


class Listener(Reader):
    """Keeps all that it was ever pushed."""

    heard = ""

    def apply(self, html: str) -> None:
        self.heard += html
        super().apply(html)


def talk_at(site: Cluster, upstream: Agent) -> tuple[Talk, Listener]:
    person = newcomer(site)
    rng = random.Random(1)  # noqa: S311 - not a secret
    chat = Talk(person, Rows(site.sqlite_file), upstream, rng)
    chat.reader = listener = Listener(person)
    return chat, listener


async def test_sites_with_conversations_of_the_same_number_do_not_hear_each_other(
    sites: list[Cluster], upstream: Agent
) -> None:
    (here, near), (there, far) = [talk_at(site, upstream) for site in sites]
    numbers = [
        chat.rows.query("SELECT id FROM chat_conversation WHERE key = {0}", chat.person.key)
        for chat in (here, there)
    ]
    assert numbers[0] == numbers[1], "the groups of their pages would have the same names"
    async with near, far:
        await there.until("both pages are attached", lambda: near.pushes and far.pushes)
        await here.send(TEXT)
        await here.settle()
        await there.send("something else")
        await there.settle()
        for chat in (here, there):
            await chat.check()
    assert TEXT in near.heard
    assert TEXT not in far.heard
