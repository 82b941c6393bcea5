"""The end of a process in the middle of a reply, under each kind of server."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import pytest

from tests.processes import Command
from tests.survival.cluster import Cluster, Web
from tests.survival.conftest import StartTalk
from tests.survival.rows import Rows
from tests.survival.talk import Talk

LONG = " ".join(f"w{number}" for number in range(30))


class Uvicorn(Web):
    """A process that learns of its start and end by the lifespan protocol. After an orderly end it
    sends itself the signal once more.
    """

    def launch(self) -> None:
        options = ("--port", str(self.port), "--lifespan", "on", "--ws", "websockets-sansio")
        program = ("-m", "uvicorn", *options, *self._options)
        self.command = Command("chatsite.asgi:application", env=self._env, program=program)


@pytest.fixture(scope="module")
def agent_options() -> tuple[str, ...]:
    return ("--grace", "5", "--drain", "2", "--word-delay", "0.1")


@pytest.fixture(scope="module", params=["postgresql", "sqlite"])
def storage(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"DATABASE_URL": "", "REDIS_URL": "", "count": 1} if request.param == "sqlite" else {}


@pytest.fixture(scope="module", params=[Web, Uvicorn])
def site_settings(request: pytest.FixtureRequest, storage: dict[str, Any]) -> dict[str, Any]:
    return {"web": request.param, **storage}


async def test_sigterm_in_the_middle_of_a_reply_loses_nothing(
    talk: StartTalk, cluster: Cluster, rows: Rows
) -> None:
    async with talk(1) as chat:
        await chat.send(LONG)
        await chat.until("the answer has begun", lambda: streams(chat))
        web = cluster.owner()
        code = await asyncio.to_thread(web.terminate)
        assert code == (-signal.SIGTERM if isinstance(web, Uvicorn) else 0)
        known = rows.query("SELECT id FROM chat_process")
        assert len(known) == len(cluster.webs) - 1, "it has signed off"
        assert [b for b in chat.stored() if b.role == "agent"], "what was shown was written"
        await asyncio.to_thread(web.start)
        await chat.settle_after()
        await chat.check()
        assert chat.finals() == 2


def streams(chat: Talk) -> bool:
    return bool(chat.in_state("agent", "streaming"))
