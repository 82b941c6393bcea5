"""`manage.py relay` keeps the connections: web processes come and go, and relays take over."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Agent, Command, clean_environment, free_port, manage
from tests.survival.cluster import Cluster
from tests.survival.conftest import StartTalk
from tests.survival.rows import Rows
from tests.survival.talk import Talk

LONG = " ".join(f"w{number}" for number in range(40))
"""The echo of it takes eight seconds: longer than a process needs to start again."""


@pytest.fixture(scope="module")
def agent_options() -> tuple[str, ...]:
    return ("--grace", "5", "--drain", "2", "--word-delay", "0.1")


@pytest.fixture(scope="module")
def site_settings() -> dict[str, Any]:
    return {"LINK_OWNERS": "relay"}


class Relays:
    """The relays of a site, each with its process."""

    def __init__(self, env: dict[str, str]) -> None:
        self._env = env
        self.all: list[Command] = []

    def start(self) -> Command:
        """One more, when it is ready."""
        relay = Command("relay", env=self._env)
        self.all.append(relay)
        relay.wait_for_line("Ready: ")
        return relay

    def owner(self, chat: Talk, rows: Rows) -> Command:
        """The one that has the conversation."""
        pid = rows.owner_pid(chat.person.key)
        (found,) = [relay for relay in self.all if relay.process.pid == pid]
        return found


@pytest.fixture
def relays(cluster: Cluster) -> Iterator[Relays]:
    """None at first."""
    relays = Relays(cluster.env)
    yield relays
    for relay in relays.all:
        relay.kill()


async def streaming(chat: Talk) -> None:
    await chat.send(LONG)
    await chat.until("the answer has begun", lambda: bool(chat.in_state("agent", "streaming")))


async def test_web_processes_are_replaced_in_the_middle_of_a_reply_and_the_connection_stays(
    talk: StartTalk, cluster: Cluster, relays: Relays, upstream: Agent
) -> None:
    relays.start()
    async with talk(1) as chat:
        await streaming(chat)
        joins, sockets = chat.joins(), chat.reader.opened
        for web in cluster.webs:
            assert web.connections(int(upstream.url.rpartition(":")[2])) == 0
            assert await asyncio.to_thread(web.terminate) == 0
            assert chat.reader.fault is None
            await asyncio.to_thread(web.start)
        await chat.settle_after()
        await chat.check()
        assert chat.joins() == joins
        assert chat.reader.opened > sockets
        assert chat.finals() == 2


async def test_a_relay_that_is_killed_is_followed_by_another(
    talk: StartTalk, relays: Relays, rows: Rows
) -> None:
    relays.start()
    relays.start()
    async with talk(2) as chat:
        await streaming(chat)
        await asyncio.to_thread(relays.owner(chat, rows).kill)
        await chat.settle_after()
        await chat.check()
        assert chat.finals() == 2


async def test_a_relay_that_ends_hands_over_to_another(
    talk: StartTalk, relays: Relays, rows: Rows
) -> None:
    relays.start()
    relays.start()
    async with talk(3) as chat:
        await streaming(chat)
        assert await asyncio.to_thread(relays.owner(chat, rows).terminate) == 0
        await chat.settle_after()
        await chat.check()
        assert chat.finals() == 2


async def test_while_there_is_no_relay_pages_say_so_and_messages_wait(
    talk: StartTalk, relays: Relays
) -> None:
    async with talk(4) as chat:
        await chat.send("anybody there?")
        await chat.until(
            "the page says what is missing", lambda: "relay" in chat.reader.connection_text
        )
        assert chat.reader.connection == "connecting"
        relay = await asyncio.to_thread(relays.start)
        await chat.settle_after()
        await chat.check()
        assert chat.reader.connection == "connected"
        assert await asyncio.to_thread(relay.interrupt) == 0


def test_a_relay_that_nobody_could_reach_does_not_start(tmp_path: Path) -> None:
    done = manage("relay", env=clean_environment(SITE_DATA=str(tmp_path)))
    assert done.returncode != 0
    assert done.stderr.splitlines() == [
        "CommandError: REDIS_URL is not set: no web process can reach a relay without."
    ]


def test_a_relay_without_its_database_does_not_start(tmp_path: Path) -> None:
    done = manage(
        "relay",
        env=clean_environment(
            SITE_DATA=str(tmp_path),
            REDIS_URL="redis://127.0.0.1:6379/0",
            DATABASE_URL=f"postgres://me:hunter2@127.0.0.1:{free_port()}/chat",
        ),
    )
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("CommandError: Cannot reach the database (DATABASE_URL): ")


def test_a_relay_has_no_web_server_in_it(tmp_path: Path) -> None:
    program = (
        "import sys; from django.core.management import call_command, CommandError\n"
        "try: call_command('relay')\n"
        "except CommandError: pass\n"
        "server = {'twisted.internet.reactor', 'daphne', 'chatsite.asgi'}\n"
        "print('found:', sorted(server & set(sys.modules)))"
    )
    done = manage("shell", "-v", "0", "-c", program, env=clean_environment(SITE_DATA=str(tmp_path)))
    assert done.stdout.strip() == "found: []"
