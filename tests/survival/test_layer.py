"""A channel layer loses messages, repeats some and delays others: pages lack nothing in the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.survival.conftest import StartTalk
from tests.survival.rounds import rounds

MESSAGES = 5
ONE_PROCESS = {"count": 1, "REDIS_URL": ""}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param({"TEST_LAYER": "LosingLayer", **ONE_PROCESS}, id="one-losing"),
        pytest.param({"TEST_LAYER": "UnrulySharedLayer"}, id="two-unruly"),
        pytest.param(
            {"TEST_LAYER": "UnrulyLayer", **ONE_PROCESS}, id="one-unruly", marks=pytest.mark.soak
        ),
        pytest.param({"TEST_LAYER": "LosingSharedLayer"}, id="two-losing", marks=pytest.mark.soak),
    ],
)
def site_settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"DJANGO_SETTINGS_MODULE": "tests.survival.lossy_settings", **request.param}


@rounds()
async def test_a_layer_that_loses_messages_loses_nothing_of_a_conversation(
    talk: StartTalk, seed: int
) -> None:
    async with talk(seed) as chat:
        talking = asyncio.create_task(chat.chatter(MESSAGES))
        await chat.moment(1.5)
        if chat.rng.random() < 0.5 and chat.reader.socket is not None:
            await chat.reader.socket.close()
        await talking
        await chat.settle()
        await chat.check(peak=1)
