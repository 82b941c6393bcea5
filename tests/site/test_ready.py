"""`/readyz` tells a balancer whether this process can serve, and which part of it cannot."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from chat.pages import readiness
from chat.pages.readiness import Readiness
from tests.processes import Site
from tests.site.asking import ask, wait_for
from tests.site.servers import Redis, Valve

HOST, PORT, USER = "127.0.0.1", 5432, "root"
AT_ONCE = 20
WELL = {"ready": True, "database": "ok", "layer": "ok", "heartbeat": "ok"}

type MakeSite = Callable[..., Site]


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a PostgreSQL database of the test's own."""
    name = f"chat_ready_{abs(hash(request.node.name)) % 10**9}"
    try:
        admin = psycopg.connect(host=HOST, port=PORT, user=USER, dbname="postgres", autocommit=True)
    except psycopg.OperationalError as error:
        pytest.skip(f"no PostgreSQL to use at {HOST}:{PORT}: {error}")
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    with admin:
        admin.execute(drop)
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield name
        admin.execute(drop)


@pytest.fixture
def valve() -> Iterator[Valve]:
    valve = Valve(PORT)
    yield valve
    valve.close()


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    redis = Redis(tmp_path)
    yield redis.start()
    redis.stop()


def is_well(site: Site) -> None:
    wait_for(f"{site.url}/readyz", lambda reply: reply.status == 200)


def test_a_process_that_runs_is_ready(shared_site: Site) -> None:
    is_well(shared_site)
    reply = ask(f"{shared_site.url}/readyz", Host="10.1.2.3")
    assert (reply.status, reply.parts) == (200, WELL)
    assert reply.headers["Cache-Control"] == "no-store"
    assert reply.headers["Set-Cookie"] is None


def test_with_redis_gone_it_is_not_ready_and_afterwards_again(
    make_site: MakeSite, redis: Redis
) -> None:
    site = make_site(REDIS_URL=redis.url)
    is_well(site)
    redis.stop()
    gone = wait_for(f"{site.url}/readyz", lambda reply: reply.status == 503)
    assert gone.parts == WELL | {"ready": False, "layer": "failed"}
    assert ask(f"{site.url}/healthz").status == 200
    redis.start()
    is_well(site)


def test_with_a_database_that_says_nothing_all_probes_are_answered(
    make_site: MakeSite, database: str, valve: Valve
) -> None:
    site = make_site(DATABASE_URL=f"postgres://{USER}@{HOST}:{valve.port}/{database}")
    is_well(site)
    valve.shut()
    gone = wait_for(f"{site.url}/readyz", lambda reply: reply.parts.get("heartbeat") == "too old")
    assert (gone.status, gone.parts["database"], gone.parts["layer"]) == (503, "no answer", "ok")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        replies = list(pool.map(ask, [f"{site.url}/readyz"] * AT_ONCE))
        healths = list(pool.map(ask, [f"{site.url}/healthz"] * AT_ONCE))
    assert {reply.status for reply in replies} == {503}
    assert {reply.parts["database"] for reply in replies} == {"no answer"}
    assert {health.status for health in healths} == {200}
    valve.open()
    is_well(site)


def test_with_all_connections_in_use_it_is_not_ready(make_site: MakeSite, database: str) -> None:
    url = f"postgres://{USER}@{HOST}:{PORT}/{database}"
    site = make_site(DATABASE_URL=url, DATABASE_POOL_SIZE="1")
    is_well(site)
    # The next heartbeat takes the one connection and waits for this lock.
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE chat_process")
        gone = wait_for(f"{site.url}/readyz", lambda reply: reply.parts["database"] == "no answer")
        assert gone.status == 503
        assert ask(f"{site.url}/healthz").status == 200
    is_well(site)


def test_while_it_stops_it_is_not_ready(site: Site) -> None:
    is_well(site)
    # To leave it must write, which it cannot while somebody else does.
    writer = sqlite3.connect(site.database, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    assert site.command is not None
    ending = threading.Thread(target=site.command.terminate)
    ending.start()
    gone = wait_for(f"{site.url}/readyz", lambda reply: reply.status == 503)
    assert gone.parts["heartbeat"] == "not running"
    writer.rollback()
    writer.close()
    ending.join()
    assert site.process.returncode == 0


async def test_a_process_that_has_not_started_is_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fine() -> None:
        return

    monkeypatch.setattr(readiness, "ask_database", fine)
    ready, parts = await Readiness().look()
    assert not ready
    assert parts == {"database": "ok", "layer": "failed", "heartbeat": "not running"}


async def test_what_hangs_is_asked_once_however_many_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, release = [], asyncio.Event()

    async def hang() -> None:
        asked.append(1)
        await release.wait()

    monkeypatch.setattr(readiness, "ask_database", hang)
    monkeypatch.setattr(readiness, "LIMIT_S", 0.01)
    ours = Readiness()
    for _ in range(3):
        looks = await asyncio.gather(*(ours.look() for _ in range(AT_ONCE)))
        assert {parts["database"] for _, parts in looks} == {"no answer"}
    assert len(asked) == 1
    release.set()
    monkeypatch.setattr(readiness, "LIMIT_S", 20)
    assert (await ours.look())[1]["database"] == "ok"
    before = len(asked)
    assert (await ours.look())[1]["database"] == "ok"
    assert len(asked) == before + 1


async def test_an_exception_is_told_by_a_word_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail() -> None:
        raise psycopg.OperationalError("connection to 10.0.0.7 as chat failed")

    monkeypatch.setattr(readiness, "ask_database", fail)
    _, parts = await Readiness().look()
    assert parts["database"] == "failed"
