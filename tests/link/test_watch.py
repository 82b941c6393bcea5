"""What no frame tells the link asks for: whether the conversation is there, and what still runs."""

from __future__ import annotations

import asyncio

import pytest
from pytest_django import Settings

from chat.agentserver.events import Json
from tests.agentserver.scripted import SILENCE, ScriptedServer
from tests.link.conftest import OpenPage, Say
from tests.link.frames import Sends, entry, log_of, numbered
from tests.link.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

IDLE: dict[str, Json] = {"running": None, "queued": [], "paused": False, "version": 9}


@pytest.fixture(autouse=True)
def _often(settings: Settings) -> None:
    settings.AGENT_PING_INTERVAL_S = 0.1


async def test_a_conversation_that_answers_nothing_any_more_is_joined_again(
    scripted: ScriptedServer, open_page: OpenPage, settings: Settings
) -> None:
    settings.AGENT_INVOKE_TIMEOUT_S = 0.5
    scripted.answers["getQueueSnapshot"] = SILENCE
    page = await open_page()
    await until(lambda: "did not answer getQueueSnapshot" in page.connection_text)
    await scripted.wait_for("joinConversation", 2)
    assert scripted.peak == 1


async def test_an_answer_that_is_late_behind_much_else_is_waited_for(
    scripted: ScriptedServer, open_page: OpenPage, say: Say, settings: Settings
) -> None:
    settings.AGENT_INVOKE_TIMEOUT_S = 0.3
    page, sends = await open_page(), Sends(scripted)
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    await sends.started(asked, "hello")
    scripted.answers["getQueueSnapshot"] = SILENCE
    for number in range(60):
        await sends.append(asked, f"{number} ")
        await asyncio.sleep(0.02)
    assert len(scripted.connections) == 1
    await until(lambda: "did not answer getQueueSnapshot" in page.connection_text)


async def test_a_request_whose_end_was_missed_is_settled(
    scripted: ScriptedServer, open_page: OpenPage, say: Say
) -> None:
    page = await open_page()
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    await Sends(scripted).started(asked, "hello")
    scripted.answers["getDisplayHistory"] = numbered(log_of(asked, "hello", "an", "swer"))
    scripted.answers["getQueueSnapshot"] = IDLE
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked) == "answer"


async def test_what_runs_or_waits_there_is_left_in_peace(
    scripted: ScriptedServer, open_page: OpenPage, say: Say
) -> None:
    page = await open_page()
    runs, waits = await say("one"), await say("two")
    queue = {**IDLE, "running": entry(runs), "queued": [entry(waits, state="queued")]}
    scripted.answers["getQueueSnapshot"] = queue
    await scripted.wait_for("submitCommand", 2)
    await until(lambda: page.state(waits) == "queued")
    await scripted.wait_for("getQueueSnapshot", 5)
    assert len(scripted.connections) == 1


async def test_a_server_that_refuses_to_tell_is_there(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    await open_page()
    await scripted.wait_for("getQueueSnapshot", 5)  # answered with "No invoke handler"
    assert len(scripted.connections) == 1
