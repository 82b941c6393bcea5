"""Daphne alone, as it is deployed, does what `manage.py serve` does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from tests.deployment.plain import PlainSite
from tests.pages.visitor import Visitor, hello, visitors
from tests.processes import PATIENCE_S, Agent

BIG_KB = 1500
"""More than Daphne's own limit for a WebSocket message, of 1 MiB."""

LOOK_EVERY_S = 0.02


@pytest.fixture
def plain(tmp_path: Path, static_root: Path, agent: Agent) -> Iterator[PlainSite]:
    site = PlainSite(tmp_path / "site", static_root, TYPEAGENT_SERVER_URL=agent.url)
    try:
        yield site.start()
    finally:
        site.close()


async def shown(visitor: Visitor, part: str, *, bytes_at_least: int) -> str:
    """The first push of that size with `part` in it, over as many sockets as it takes."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with contextlib.suppress(ConnectionClosed):
                async with visitor.socket() as socket:
                    await hello(socket)
                    async for push in socket:
                        if part in str(push) and len(push) >= bytes_at_least:
                            return str(push)
            await asyncio.sleep(0.1)


async def test_a_push_of_more_than_a_mebibyte_arrives(plain: PlainSite) -> None:
    (alice,) = await asyncio.to_thread(visitors, plain, "alice")
    waiting = asyncio.create_task(shown(alice, "</article>", bytes_at_least=BIG_KB * 1000))
    sent = await asyncio.to_thread(alice.send, f"@demo big {BIG_KB}", "one")
    assert sent.status == 200
    await waiting
    command = plain.command
    assert command is not None
    assert "exceeding payload limit" not in command.output


async def test_a_frame_larger_than_any_page_sends_is_refused(plain: PlainSite) -> None:
    (alice,) = await asyncio.to_thread(visitors, plain, "alice")
    async with asyncio.timeout(PATIENCE_S), alice.socket() as socket:
        with contextlib.suppress(ConnectionClosed):
            await socket.send("x" * 100_000)
        await socket.wait_closed()
    async with asyncio.timeout(PATIENCE_S), alice.socket() as socket:
        await socket.send('{"type":"ping","n":1}')
        assert 'data-n="1"' in str(await socket.recv())


def test_the_access_log_has_no_log_in_link(plain: PlainSite) -> None:
    link = plain.login_link("alice")
    token = link.partition("sesame=")[2]
    (visitor,) = visitors(plain, "bob")
    assert visitor.get(link.removeprefix(plain.url)).status == 200
    plain.stop()
    assert "/accounts/one-time/" in plain.output
    assert token not in plain.output


def test_sqlites_write_ahead_log_stays_between_two_requests(plain: PlainSite) -> None:
    log = Path(f"{plain.database}-wal")
    (alice,) = visitors(plain, "alice")
    deadline = time.monotonic() + PATIENCE_S
    while str(log) not in open_files(plain.process.pid):
        assert time.monotonic() < deadline, plain.output
        time.sleep(LOOK_EVERY_S)
    for _ in range(5):
        assert alice.get(alice.page).status == 200
        for _ in range(10):
            assert str(log) in open_files(plain.process.pid)
            time.sleep(LOOK_EVERY_S)
    plain.stop()
    assert not log.exists()


def open_files(pid: int) -> set[str]:
    found = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(entry))
    return found
