"""The development server starts anew when a file changes; a reply goes on all the same."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ROOT, Command
from tests.survival.cluster import Cluster, Web
from tests.survival.conftest import StartTalk

LONG = " ".join(f"w{number}" for number in range(40))


@pytest.fixture(scope="module")
def agent_options() -> tuple[str, ...]:
    return ("--grace", "5", "--drain", "2", "--word-delay", "0.2")


@pytest.fixture(scope="module")
def site_settings() -> dict[str, Any]:
    return {"DATABASE_URL": "", "REDIS_URL": "", "DEBUG": "true", "count": 1}


class Runserver(Web):
    """`manage.py runserver` in a copy of the site, whose files a test may touch."""

    tree: Path

    def launch(self) -> None:
        program = (str(self.tree / "manage.py"), "runserver")
        self.command = Command(f"127.0.0.1:{self.port}", env=self._env, program=program)


@pytest.fixture
def runserver(cluster: Cluster, tmp_path: Path) -> Iterator[Runserver]:
    """In place of the daphne process of `cluster`."""
    for name in ("chat", "chatsite", "static", "templates"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "manage.py", tmp_path)
    (usual,) = cluster.webs
    usual.terminate()
    web = Runserver(cluster.env)
    web.tree = tmp_path
    cluster.webs = [web.start()]
    yield web
    if web.command is not None:
        web.command.interrupt()
    cluster.webs = [usual]


async def test_a_reload_in_the_middle_of_a_reply_loses_nothing(
    talk: StartTalk, runserver: Runserver
) -> None:
    async with talk(1) as chat:
        await chat.send(LONG)
        await chat.until("it streams", lambda: bool(chat.in_state("agent", "streaming")))
        (runserver.tree / "chat" / "apps.py").touch()
        await chat.until("it reloads", lambda: "changed, reloading" in runserver.output)
        await chat.settle_after()
        await chat.check()
        assert chat.finals() == 2
