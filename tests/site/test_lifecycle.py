"""The links begin and end with the server, whichever server it is."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from chatsite import lifecycle


class Hooks:
    """Notes what was called; `fails` makes the first one fail."""

    def __init__(self, *, fails: bool = False) -> None:
        self.calls: list[str] = []
        self._fails = fails

    async def startup(self) -> None:
        self.calls.append("startup")
        if self._fails:
            raise RuntimeError("no database")

    async def shutdown(self) -> None:
        self.calls.append("shutdown")


@pytest.fixture(autouse=True)
def armed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The hard exits that were armed, none of which ends the tests."""
    times: list[float] = []
    monkeypatch.setattr(lifecycle, "arm_hard_exit", times.append)
    return times


async def run_lifespan(hooks: Hooks) -> list[str]:
    events = asyncio.Queue[dict[str, Any]]()
    events.put_nowait({"type": "lifespan.startup"})
    events.put_nowait({"type": "lifespan.shutdown"})
    sent: list[str] = []

    async def send(event: dict[str, Any]) -> None:
        sent.append(event["type"])

    life = lifecycle.Life(hooks.startup, hooks.shutdown, stop_within_s=7)
    await lifecycle.lifespan_app(life)({}, events.get, send)
    return sent


async def test_a_lifespan_starts_and_stops(armed: list[float]) -> None:
    hooks = Hooks()
    assert await run_lifespan(hooks) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert hooks.calls == ["startup", "shutdown"]
    assert armed == [7]


async def test_a_failed_start_is_logged_and_serves_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks(fails=True)
    assert await run_lifespan(hooks) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert "Hooks.startup failed" in caplog.text


async def test_a_start_that_never_succeeds_keeps_nobody_from_serving_or_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class NoDatabase(Hooks):
        async def startup(self) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                self.calls.append("startup given up")

    monkeypatch.setattr(lifecycle, "START_PATIENCE_S", 0.01)
    hooks = NoDatabase()
    assert await run_lifespan(hooks) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert hooks.calls == ["startup given up", "shutdown"]


REACTOR = """
import asyncio, sys, threading
from daphne.server import reactor
from chatsite import lifecycle

async def startup():
    print("startup", flush=True)
    reactor.callLater(0, reactor.stop)

async def shutdown():
    await asyncio.sleep(0)
    print("shutdown", flush=True)

lifecycle.hook_reactor(lifecycle.Life(startup, shutdown, stop_within_s=15))
reactor.run()
print([t.daemon for t in threading.enumerate() if isinstance(t, threading.Timer)])
"""


def test_daphnes_reactor_starts_and_stops() -> None:
    done = subprocess.run(
        [sys.executable, "-c", REACTOR], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split("\n")[:3] == ["startup", "shutdown", "[True]"], done.stderr
    assert done.returncode == 0


def test_a_shutdown_that_hangs_ends_all_the_same() -> None:
    program = (
        "from chatsite import lifecycle; import time\nlifecycle.arm_hard_exit(0.01)\ntime.sleep(60)"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=50, check=False)
    assert done.returncode == 1
