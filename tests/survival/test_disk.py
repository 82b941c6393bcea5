"""The disk of a site with SQLite is full for a while: what is sent meanwhile is refused in plain
words, and afterwards all goes on.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import PATIENCE_S
from tests.survival.cluster import Cluster
from tests.survival.conftest import StartTalk
from tests.survival.pinned import post_to
from tests.survival.rounds import rounds
from tests.survival.rows import Rows
from tests.survival.talk import Talk

SIZE = "24m"
ROOM_BYTES = 8192
"""Less than what storing anything takes."""

NO_ROOM = "The site has no room left on its disk."


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small file system of its own."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = f"no file system can be mounted here: {done.stderr.strip()}"
        if os.environ.get("CI") == "true" and os.geteuid() == 0:
            pytest.fail(reason)
        pytest.skip(reason)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(scope="module")
def site_settings(disk: Path) -> dict[str, Any]:
    return {"count": 1, "DATABASE_URL": f"sqlite:///{disk}/chat.sqlite3", "REDIS_URL": ""}


@pytest.fixture(scope="module")
def rows(cluster: Cluster, disk: Path) -> Rows:
    return Rows(disk / "chat.sqlite3")


@pytest.fixture
def filler(disk: Path) -> Iterator[Path]:
    """The file that takes all the room, once it is written."""
    path = disk / "filler"
    yield path
    path.unlink(missing_ok=True)


def fill(filler: Path) -> None:
    """Until there is no room for even one page of the database, nor in the log that earlier rounds
    have left.
    """
    with sqlite3.connect(filler.parent / "chat.sqlite3", timeout=PATIENCE_S) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with filler.open("ab", buffering=0) as file:
        while (free := shutil.disk_usage(filler).free) > 0:
            file.write(bytes(min(free, 2**20)))


@rounds()
async def test_with_a_full_disk_messages_are_refused_and_then_all_goes_on(
    talk: StartTalk, cluster: Cluster, filler: Path, seed: int
) -> None:
    async with talk(seed) as chat:
        await chat.send("before" + " and after" * chat.rng.randint(0, 30))
        await chat.moment(1.5)
        sockets = chat.reader.opened
        await asyncio.to_thread(fill, filler)
        await until_refused(chat, cluster)
        await chat.moment(2.0)
        page = await chat.person.try_once(cluster.running[0], "GET", f"/c/{chat.person.key}/")
        assert page.status in (200, 507)
        await asyncio.to_thread(filler.unlink)
        await chat.settle()
        await chat.send("afterwards")
        await chat.settle()
        await chat.check()
        assert chat.reader.opened == sockets, "the page stayed"


async def until_refused(chat: Talk, cluster: Cluster) -> None:
    """The log of the database may have room of its own for one message or another."""
    for number in range(100):
        text = f"message {number} " + "x" * 2000  # of which only a part is echoed
        answer = await post_to(chat, cluster.running[0], text, echoed=False)
        if answer.status != 200:
            assert answer.status == 507
            assert NO_ROOM in answer.body
            return
    raise AssertionError("all messages found room")
