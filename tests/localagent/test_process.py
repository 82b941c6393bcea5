"""`manage.py localagent` as a real process: its first line, its signals, its death."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from chat.localagent import LocalAgent, Settings
from chat.localagent.process import run

from .client import wire
from .conftest import QUICK

MANAGE = Path(__file__).resolve().parents[2] / "manage.py"
START_S = 60.0
"""A slow machine takes its time to import Django."""


@contextlib.asynccontextmanager
async def _process(data: Path, *options: str) -> AsyncIterator[tuple[Process, str]]:
    command = [sys.executable, str(MANAGE), "localagent", "--port", "0", "--data", str(data)]
    process = await asyncio.create_subprocess_exec(*command, *options, stdout=PIPE)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(START_S):
            line = (await process.stdout.readline()).decode().strip()
        assert line.startswith("localagent: ws://127.0.0.1:")
        yield process, line.removeprefix("localagent: ")
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def test_a_kill_loses_no_entry_that_a_client_has_seen(tmp_path: Path) -> None:
    async with _process(tmp_path) as (process, url), wire(url) as client:
        conversation_id = client.conversation_id
        await client.submit("@demo stream 20000 60 2000")
        await client.until(lambda _: len(client.calls("appendDisplay")) >= 20)
        process.kill()
        await client.closed.wait()
        assert client.socket.close_code == 1006
        seen = [args[0]["message"]["content"] for args in client.calls("appendDisplay")]
    server = LocalAgent(tmp_path)
    entries = [e for e in server.history(conversation_id) if e["type"] == "append-display"]
    logged = [entry["message"]["message"]["content"] for entry in entries]
    assert logged[: len(seen)] == seen


async def test_sigterm_drains_and_a_second_one_does_not_wait(tmp_path: Path) -> None:
    async with _process(tmp_path) as (process, url), wire(url) as client:
        await client.submit("@slow 600")
        process.send_signal(signal.SIGTERM)
        await refused(url)
        assert await client.server("listMacros") == []
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
        await client.closed.wait()
        assert client.socket.close_code == 1006


async def test_a_client_can_have_it_started_again_and_a_signal_ends_it(tmp_path: Path) -> None:
    urls: asyncio.Queue[str] = asyncio.Queue()
    served = asyncio.create_task(run(tmp_path, "127.0.0.1", 0, QUICK, urls.put_nowait))
    url = await urls.get()
    async with wire(url) as client:
        await client.run("@demo text")
        await client.begin("agent-server", "restart")
        await client.closed.wait()
    assert await urls.get() == url
    async with wire(url) as client:
        assert client.connection_id == "0"
        assert len(await client.ask("getDisplayHistory")) == 4
        signal.raise_signal(signal.SIGTERM)
        await served
        await client.closed.wait()


@pytest.mark.parametrize("ending", ["interrupt", "shutdown"])
async def test_an_interrupt_or_a_shutdown_ends_it_at_once(tmp_path: Path, ending: str) -> None:
    urls: asyncio.Queue[str] = asyncio.Queue()
    served = asyncio.create_task(run(tmp_path, "127.0.0.1", 0, Settings(), urls.put_nowait))
    async with wire(await urls.get()) as client:
        await client.submit("@slow 600")
        if ending == "interrupt":
            signal.raise_signal(signal.SIGINT)
        else:
            await client.begin("agent-server", "shutdown")
        await served
        await client.closed.wait()
        assert client.socket.close_code == 1006


def test_an_impossible_address_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"localagent: cannot serve on 127\.0\.0\.1:70000"):
        call_command("localagent", "--port", "70000", "--data", str(tmp_path))


async def refused(url: str) -> None:
    """Wait until the process takes no more connections."""
    host, port = url.removeprefix("ws://").split(":")
    async with asyncio.timeout(START_S):
        while True:
            try:
                _, writer = await asyncio.open_connection(host, int(port))
            except OSError:
                return
            writer.close()
            await asyncio.sleep(0.01)
