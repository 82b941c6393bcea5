"""PostgreSQL is restarted, goes away, or has no connection left: what is sent meanwhile is refused
in plain words, and afterwards all goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.pages.forms import Document
from tests.survival.cluster import Cluster, Web
from tests.survival.conftest import StartTalk
from tests.survival.pinned import post_to
from tests.survival.rounds import USUAL, rounds
from tests.survival.servers import PostgresServer
from tests.survival.stock import Database
from tests.survival.talk import Talk

MESSAGES = 5
GONE_S = 15.0
SHORTLY_GONE_S = 4.0
"""Twice the time after which others may take over."""

NO_DATABASE = "The site cannot reach its database at the moment."


@pytest.fixture(scope="module")
def postgresql() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        yield server.create().start()
    finally:
        server.remove()


@pytest.fixture(scope="module")
def database(postgresql: PostgresServer) -> Database:
    return Database(postgresql.where, postgresql.user)


@pytest.fixture(scope="module")
def site_settings(database: Database) -> dict[str, Any]:
    return {"DATABASE_URL": database.url}


def run(database: Database, command: str) -> None:
    """As the administrator. `{}` stands for the database."""
    with psycopg.connect(database.admin, autocommit=True) as admin:
        admin.execute(sql.SQL(command).format(sql.Identifier(database.name)))


def end_all_connections(database: Database) -> None:
    """As an administrator, or a proxy between, does it."""
    with psycopg.connect(database.admin, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [database.name],
        )


async def assert_refused(chat: Talk, cluster: Cluster) -> None:
    """A message, and a page: both in plain words, by each process."""

    async def ask(web: Web) -> None:
        answer, page = await asyncio.gather(
            post_to(chat, web, "refused"),
            chat.person.try_once(web, "GET", f"/c/{chat.person.key}/"),
        )
        assert (answer.status, page.status) == (503, 503)
        assert NO_DATABASE in answer.body
        assert NO_DATABASE in page.body
        (line,) = [e for e in Document(answer.body).elements if "hx-swap-oob" in e.attributes]
        assert line.attributes["id"] == "composer-error"

    await asyncio.gather(*map(ask, cluster.running))


def before(chat: Talk) -> str:
    """Something whose answer is under way for up to a second."""
    return "before" + " and after" * chat.rng.randint(0, 30)


@rounds()
async def test_a_restart_of_postgresql_loses_nothing(
    talk: StartTalk, postgresql: PostgresServer, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(2.5)
        mode = chat.rng.choice(["fast", "immediate"])
        await asyncio.to_thread(postgresql.stop, mode)
        await chat.moment(1.5)
        await asyncio.to_thread(postgresql.start)
        await talking
        await chat.settle()
        await chat.check()


@rounds()
async def test_without_postgresql_messages_are_refused_and_then_all_goes_on(
    talk: StartTalk, cluster: Cluster, postgresql: PostgresServer, seed: int
) -> None:
    async with talk(seed) as chat:
        await chat.send(before(chat))
        await chat.moment(0.5)
        end = asyncio.get_running_loop().time() + (SHORTLY_GONE_S if seed < USUAL else GONE_S)
        await asyncio.to_thread(postgresql.stop, "immediate")
        await assert_refused(chat, cluster)
        await asyncio.sleep(max(0.0, end - asyncio.get_running_loop().time()))
        await asyncio.to_thread(postgresql.start)
        await chat.settle()
        await chat.send("afterwards")
        await chat.settle()
        await chat.check()


@rounds()
async def test_connections_that_end_lose_nothing(
    talk: StartTalk, database: Database, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        for _ in range(3):
            await chat.moment(1.5)
            await asyncio.to_thread(end_all_connections, database)
        await talking
        await chat.settle()
        await chat.check()


@rounds()
async def test_out_of_connections_messages_are_refused_and_then_all_goes_on(
    talk: StartTalk, cluster: Cluster, database: Database, seed: int
) -> None:
    async with talk(seed) as chat:
        await chat.send(before(chat))
        await chat.moment(0.5)
        await asyncio.to_thread(run, database, "ALTER DATABASE {} ALLOW_CONNECTIONS false")
        await asyncio.to_thread(end_all_connections, database)
        await assert_refused(chat, cluster)
        await chat.moment(2.0)
        await asyncio.to_thread(run, database, "ALTER DATABASE {} ALLOW_CONNECTIONS true")
        await chat.settle()
        await chat.send("afterwards")
        await chat.settle()
        await chat.check()


@rounds()
async def test_a_lock_that_holds_everything_up_loses_nothing(
    talk: StartTalk, database: Database, seed: int
) -> None:
    """Every connection of every process comes to wait for it, the heartbeats among them."""
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(2.5)
        table = chat.rng.choice(["chat_conversation", "chat_process", "chat_message"])
        async with await psycopg.AsyncConnection.connect(database.url) as locker:
            lock = sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE")
            await locker.execute(lock.format(sql.Identifier(table)))
            await asyncio.sleep(SHORTLY_GONE_S)
        await talking
        await chat.settle()
        await chat.check()


async def test_c51_the_message_after_a_lost_connection_is_taken_at_once(
    talk: StartTalk, cluster: Cluster, database: Database
) -> None:
    async with talk(0) as chat:
        await chat.send("before")
        await chat.settle()
        for web in cluster.running:
            await asyncio.to_thread(end_all_connections, database)
            assert (await post_to(chat, web, "at once")).status == 200
        await chat.settle()
        await chat.check()
