"""An agent-server that is away, refuses or drops: what is shown, and when it is tried again."""

from __future__ import annotations

import time

import pytest
from django.db import OperationalError

from chat.db import in_db
from chat.link import link as link_module
from chat.link.hub import Hub
from chat.link.status import Status
from chat.models import Conversation, LinkState
from chat.transcript import reading
from tests.agentserver.scripted import ScriptedServer
from tests.link.conftest import OpenPage, Say
from tests.link.directed import DirectedAgent
from tests.link.wait import until

pytestmark = pytest.mark.django_db(transaction=True)


def _state(conversation: Conversation) -> tuple[str, str]:
    conversation.refresh_from_db()
    return conversation.link_state, conversation.link_error


async def test_an_agent_server_that_is_away_is_tried_for_ever(
    scripted: ScriptedServer, open_page: OpenPage, conversation: Conversation
) -> None:
    scripted.refuse_with = 503
    page = await open_page()
    await until(lambda: len(scripted.upgrades) >= 4)
    await until(lambda: page.connection == "reconnecting")
    assert "HTTP 503" in page.connection_text
    await until(lambda: in_db(lambda: _state(conversation)[0] == LinkState.LOST))
    scripted.refuse_with = None
    await until(lambda: page.connection == "connected")
    await until(lambda: in_db(lambda: _state(conversation) == ("joined", "")))


async def test_the_waits_between_tries_grow_and_are_bounded(
    scripted: ScriptedServer,
    hub: Hub,
    conversation: Conversation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_module, "RETRY_FIRST_S", 0.01)
    monkeypatch.setattr(link_module, "RETRY_MAX_S", 0.04)
    monkeypatch.setattr(link_module, "RETRY_JITTER", 0)
    shown: list[float] = []
    scripted.refuse_with = 503
    await hub.open(conversation.pk)
    link = hub.links[conversation.pk]
    show = link._show

    async def watch(status: Status) -> None:
        if status.state == LinkState.LOST:
            shown.append(round(status.retry_at - time.monotonic(), 4))
        await show(status)

    monkeypatch.setattr(link, "_show", watch)
    await until(lambda: len(shown) >= 5)
    assert [round(delay, 2) for delay in shown[:5]] == [0.01, 0.02, 0.04, 0.04, 0.04]


async def test_a_server_that_drops_every_join_is_not_hammered(
    scripted: ScriptedServer, hub: Hub, conversation: Conversation
) -> None:
    await hub.open(conversation.pk)
    for times in range(1, 6):
        await scripted.wait_for("joinConversation", times)
        scripted.drop()
    status = hub.links[conversation.pk].flusher.status
    await until(lambda: hub.links[conversation.pk].flusher.status != status)
    assert len(scripted.connections) == 5


async def test_retry_does_not_wait(
    scripted: ScriptedServer,
    hub: Hub,
    open_page: OpenPage,
    conversation: Conversation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_module, "RETRY_FIRST_S", 3600)
    monkeypatch.setattr(link_module, "RETRY_MAX_S", 3600)
    scripted.refuse_with = 503
    page = await open_page()
    await until(lambda: page.connection == "reconnecting")
    scripted.refuse_with = None
    await hub.ask(conversation.pk, {"type": "owner.retry"})
    await until(lambda: page.connection == "connected")


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_token_stops_until_somebody_asks(
    scripted: ScriptedServer,
    hub: Hub,
    open_page: OpenPage,
    say: Say,
    conversation: Conversation,
    status: int,
) -> None:
    scripted.refuse_with = status
    page = await open_page()
    await until(lambda: page.connection == "error")
    assert page.connection_text.startswith("Tunnel auth failed. Check token.")
    asked = await say("kept")
    await until(lambda: page.of(asked))
    assert len(scripted.upgrades) == 1
    scripted.refuse_with = None
    await hub.ask(conversation.pk, {"type": "owner.retry"})
    assert (await scripted.wait_for("submitCommand")).args[4] == asked
    await until(lambda: page.connection == "connected")


async def test_a_database_that_fails_at_the_start_is_tried_again(
    agent: DirectedAgent,
    hub: Hub,
    open_page: OpenPage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([OperationalError("away"), ValueError("odd")])
    right = reading.unfinished

    def failing(conversation_id: int) -> object:
        error = next(times, None)
        if error is not None:
            raise error
        return right(conversation_id)

    monkeypatch.setattr(reading, "unfinished", failing)
    page = await open_page()
    await until(lambda: page.connection == "connected")
