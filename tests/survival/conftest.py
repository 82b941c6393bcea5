"""A site of two processes on PostgreSQL and Redis, its agent-server, and people who talk."""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from tests.processes import Agent
from tests.survival.cluster import Cluster, MakeCluster
from tests.survival.person import Person, newcomer
from tests.survival.rows import Rows
from tests.survival.talk import Talk

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
def cluster(make_cluster: MakeCluster, upstream: Agent, site_settings: dict[str, Any]) -> Cluster:
    """The processes of a module; a test that ends one starts it again."""
    return make_cluster(upstream.url, **site_settings)


@pytest.fixture(scope="module")
def rows(cluster: Cluster) -> Rows:
    """The database of `cluster`."""
    return Rows(cluster.database_url or cluster.sqlite_file)


@pytest.fixture
def person(cluster: Cluster) -> Person:
    """Somebody new, logged in, with an empty conversation."""
    return newcomer(cluster)


@pytest.fixture
def other_person(cluster: Cluster) -> Person:
    """Somebody else like that."""
    return newcomer(cluster)


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
