"""The machine's clock is set an hour back or on while the site runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.survival.clock import VARIABLE, Clock
from tests.survival.cluster import Cluster
from tests.survival.conftest import StartTalk
from tests.survival.rounds import rounds

MESSAGES = 5
HOUR_S = 3600


@pytest.fixture(scope="module")
def clock_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clock") / "offset"


@pytest.fixture(scope="module")
def clock(clock_file: Path) -> Clock:
    return Clock(clock_file)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param({"count": 1, "REDIS_URL": "", "DATABASE_URL": ""}, id="sqlite"),
        pytest.param({}, id="postgresql"),
    ],
)
def site_settings(request: pytest.FixtureRequest, clock: Clock, clock_file: Path) -> dict[str, Any]:
    stepped = {"DJANGO_SETTINGS_MODULE": "tests.survival.stepped_settings"}
    return {**stepped, VARIABLE: str(clock_file), **request.param}


@rounds()
async def test_a_step_of_the_clock_changes_nothing(
    talk: StartTalk, clock: Clock, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(2.0)
        clock.step(HOUR_S if seed % 2 else -HOUR_S)
        await talking
        await chat.settle()
        await chat.send("and afterwards")
        await chat.settle()
        assert {request["state"] for request in chat.requests()} == {"final"}
        await chat.check()


@rounds()
async def test_a_process_that_died_before_the_clock_was_set_back_is_soon_replaced(
    talk: StartTalk, cluster: Cluster, clock: Clock, seed: int
) -> None:
    """Its last beat is in the future: it must not count for an hour."""
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(2.0)
        web = cluster.owner()
        await asyncio.to_thread(web.kill)
        clock.step(-HOUR_S)
        await asyncio.to_thread(web.start)
        await talking
        await chat.settle()
        await chat.check()


@rounds()
async def test_a_clear_before_the_clock_was_set_back_hides_nothing_that_comes_after(
    talk: StartTalk, clock: Clock, seed: int
) -> None:
    async with talk(seed) as chat:
        await chat.send("to be cleared")
        await chat.settle()
        clock.step(HOUR_S)
        await chat.person.post("clear/")
        chat.sent.clear()
        await chat.moment(0.5)
        clock.step(-HOUR_S)
        await chat.chatter(2, within_s=0.5)
        await chat.settle()
        await chat.check()
