"""A site of two processes on PostgreSQL and Redis, its agent-server, and people who talk."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.pages.visitor import MAKE
from tests.processes import Agent
from tests.survival.cluster import POSTGRES, REDIS, Cluster, Database, require
from tests.survival.person import Person
from tests.survival.rows import Rows
from tests.survival.talk import Talk

BATCH = 24
AGENT_WAITS = ("--grace", "5", "--drain", "2", "--word-delay", "0.02")

type StartTalk = Callable[[int], AbstractAsyncContextManager[Talk]]


@pytest.fixture(scope="module")
def agent_options() -> tuple[str, ...]:
    """For a module that wants other waits of the agent-server."""
    return AGENT_WAITS


@pytest.fixture(scope="module")
def upstream(
    tmp_path_factory: pytest.TempPathFactory, agent_options: tuple[str, ...]
) -> Iterator[Agent]:
    """The agent-server of a module; a test that ends it starts it again."""
    agent = Agent(tmp_path_factory.mktemp("agent"), "--show-joins", *agent_options)
    yield agent.start()
    agent.kill()


@pytest.fixture(scope="module")
def site_settings() -> dict[str, Any]:
    """For a module that wants other settings of the site, or `count` processes."""
    return {}


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory,
    static_root: Path,
    upstream: Agent,
    site_settings: dict[str, Any],
) -> Iterator[Cluster]:
    """The processes of a module; a test that ends one starts it again."""
    require("PostgreSQL", POSTGRES)
    require("Redis", REDIS)
    settings: dict[str, Any] = {
        "TYPEAGENT_SERVER_URL": upstream.url,
        "REDIS_URL": f"redis://{REDIS[0]}:{REDIS[1]}/0",
        **site_settings,
    }
    database = Database() if "DATABASE_URL" not in settings else None
    if database is not None:
        settings["DATABASE_URL"] = database.url
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), static_root, **settings)
    try:
        yield cluster.start()
    finally:
        cluster.close()
        if database is not None:
            database.drop()


@pytest.fixture(scope="module")
def rows(cluster: Cluster) -> Rows:
    """The database of `cluster`."""
    return Rows(cluster.database_url or cluster.sqlite_file)


@pytest.fixture(scope="module")
def strangers(cluster: Cluster) -> list[Person]:
    """People of `cluster` whom no test has met."""
    return []


@pytest.fixture
def person(cluster: Cluster, strangers: list[Person]) -> Person:
    """Somebody new, logged in, with an empty conversation."""
    return stranger(cluster, strangers)


@pytest.fixture
def other_person(cluster: Cluster, strangers: list[Person]) -> Person:
    """Somebody else like that."""
    return stranger(cluster, strangers)


def stranger(cluster: Cluster, strangers: list[Person]) -> Person:
    """Takes one away from those that were made; makes more if there is none."""
    if not strangers:
        names = [f"someone-{uuid4().hex[:12]}" for _ in range(BATCH)]
        printed = cluster.manage("shell", "-v", "0", "-c", MAKE.format(names=names, staff=False))
        made = zip(names, json.loads(printed.rpartition("made:")[2]), strict=True)
        strangers += [Person(cluster, name, *about) for name, about in made]
    return strangers.pop()


@pytest.fixture
def talk(person: Person, rows: Rows, upstream: Agent) -> StartTalk:
    """Opens a page of a new conversation: `async with talk(seed) as chat:`."""

    @contextlib.asynccontextmanager
    async def start(seed: int) -> AsyncIterator[Talk]:
        rng = random.Random(seed)  # noqa: S311 - not a secret
        person.rng = rng
        chat = Talk(person, rows, upstream, rng)
        async with chat.reader:
            yield chat

    return start
