"""The upstream conversation is gone: once, and only then, the user moves to a new one."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from chat.agentserver.events import Json
from chat.db import in_db
from chat.display.blocks import wrap_blocks
from chat.models import Conversation, Message, Request
from tests.agentserver.scripted import SILENCE, Answer, Refusal, ScriptedServer, joined
from tests.link.conftest import OpenPage, Say
from tests.link.frames import Sends
from tests.link.wait import until
from tests.transcript import make

pytestmark = pytest.mark.django_db(transaction=True)

DEAD = "dead-0001"


def _with_dead_upstream(conversation: Conversation) -> Conversation:
    make.exchange(conversation)
    for message in Message.objects.all():
        Message.objects.filter(pk=message.pk).update(html=wrap_blocks(message.uid, ["old"]))
    Conversation.objects.update(upstream_id=DEAD, history_cursor=9, next_seq=1000, revision=1)
    conversation.refresh_from_db()
    return conversation


@pytest.fixture
async def moved(conversation: Conversation) -> Conversation:
    """Its upstream conversation does not exist any more."""
    return await in_db(_with_dead_upstream, conversation)


def joins(server: ScriptedServer) -> list[Json]:
    return [
        f.args[0].get("conversationId") for f in server.received if f.name == "joinConversation"
    ]


def join_with(dead: Answer) -> Json:
    """Answers joins of the dead conversation so, and of others as usual."""
    return lambda options: dead if options.get("conversationId") == DEAD else joined(options)


NOT_FOUND = Refusal(f"Conversation not found: {DEAD}")


async def test_the_user_moves_once_and_what_waits_is_sent_to_the_new_one(
    scripted: ScriptedServer, moved: Conversation, open_page: OpenPage, say: Say
) -> None:
    scripted.answers["joinConversation"] = join_with(NOT_FOUND)
    scripted.hang_upgrades = True
    asked = await say("still to send")
    scripted.let_go()
    page = await open_page()
    await scripted.wait_for("submitCommand")
    await until(lambda: page.connection == "connected")
    assert page.texts == [
        "still to send",
        "The earlier conversation no longer exists on the agent-server. This is a new one.",
    ]
    assert joins(scripted) == [DEAD, "c1"]
    await in_db(moved.refresh_from_db)
    assert (moved.upstream_id, moved.name) == ("c1", "default")
    await until(lambda: in_db(_position, moved))
    assert [r.request_id for r in await in_db(lambda: list(Request.objects.all()))] == [asked]
    scripted.drop()
    await until(lambda: joins(scripted) == [DEAD, "c1", "c1"])


def _position(conversation: Conversation) -> bool:
    conversation.refresh_from_db()
    return conversation.history_cursor == -1


async def test_a_page_that_is_open_loses_what_went_with_the_conversation(
    scripted: ScriptedServer, moved: Conversation, open_page: OpenPage
) -> None:
    scripted.refuse_with = 503
    page = await open_page()
    await until(lambda: len(page.texts) == 2)
    scripted.answers["joinConversation"] = join_with(NOT_FOUND)
    scripted.refuse_with = None
    await until(lambda: len(page.texts) == 1)
    assert page.order[0].role == "notice"


async def test_a_drop_in_the_middle_of_the_move_does_not_repeat_it(
    scripted: ScriptedServer, moved: Conversation, open_page: OpenPage
) -> None:
    scripted.answers["joinConversation"] = join_with(NOT_FOUND)
    scripted.answers["listConversations"] = SILENCE
    page = await open_page()
    await scripted.wait_for("listConversations")
    await until(lambda: len(page.texts) == 1)
    scripted.answers["listConversations"] = []
    scripted.drop()
    await until(lambda: joins(scripted) == [DEAD, "c1"])
    await until(lambda: page.connection == "connected")
    assert len(page.texts) == 1


@pytest.mark.parametrize(
    "failure",
    [
        Refusal("Something else: Conversation not found"),
        Refusal("conversation not found: x"),
        Refusal("Cannot read properties of undefined"),
        Refusal(""),
        {"connectionId": "0"},
    ],
)
async def test_every_other_failure_is_shown_and_tried_again(
    scripted: ScriptedServer, moved: Conversation, open_page: OpenPage, failure: Answer
) -> None:
    scripted.answers["joinConversation"] = join_with(failure)
    page = await open_page()
    await until(lambda: joins(scripted) == [DEAD, DEAD, DEAD])
    await until(lambda: page.connection in ("reconnecting", "connecting"))
    scripted.answers["joinConversation"] = joined
    await until(lambda: page.connection == "connected")
    assert page.texts == ["old", "old"]
    await in_db(moved.refresh_from_db)
    assert moved.upstream_id == DEAD


async def test_a_join_that_is_never_answered_is_shown_and_tried_again(
    scripted: ScriptedServer, moved: Conversation, open_page: OpenPage, settings: Settings
) -> None:
    settings.AGENT_INVOKE_TIMEOUT_S = 0.2
    scripted.answers["joinConversation"] = SILENCE
    page = await open_page()
    await until(lambda: "did not answer joinConversation" in page.connection_text)
    await until(lambda: len(joins(scripted)) > 1)
    assert page.texts == ["old", "old"]


async def test_output_of_a_conversation_that_was_not_joined_is_ignored(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    page = await open_page()
    await until(lambda: page.connection == "connected")
    await Sends(scripted, "another").started("x", "theirs")
    await Sends(scripted).started("y", "ours")
    await until(lambda: page.of("y"))
    assert not page.of("x")
