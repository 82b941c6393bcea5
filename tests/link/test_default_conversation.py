"""Which upstream conversation is a user's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from pytest_django import Settings

from chat.agentserver.events import Json
from chat.db import in_db
from chat.link.hub import Hub
from chat.models import Conversation
from tests.agentserver.scripted import Refusal, ScriptedServer, joined
from tests.link.conftest import OpenPage
from tests.link.directed import DirectedAgent
from tests.link.wait import until
from tests.localagent.client import wire
from tests.transcript import make

pytestmark = pytest.mark.django_db(transaction=True)

type Joins = Callable[..., Awaitable[list[tuple[str, str]]]]


@pytest.fixture
async def joins(hub: Hub) -> Joins:
    """Has conversations joined; gives the upstream id and name of each."""

    async def join_all(*conversations: Conversation) -> list[tuple[str, str]]:
        for conversation in conversations:
            await hub.open(conversation.pk)
        await until(lambda: in_db(lambda: all(_row(c)[0] for c in conversations)))
        return [await in_db(_row, conversation) for conversation in conversations]

    return join_all


def _row(conversation: Conversation) -> tuple[str, str]:
    conversation.refresh_from_db()
    return conversation.upstream_id, conversation.name


async def test_it_is_named_after_the_site_and_the_user(
    agent: DirectedAgent, joins: Joins, conversation: Conversation, settings: Settings
) -> None:
    settings.SITE_NAME = "Our chat"
    ((upstream_id, name),) = await joins(conversation)
    assert name == "Our chat: alice"
    assert agent.server.clients_now(upstream_id) == 1


async def test_it_is_found_again_by_its_exact_name(
    agent: DirectedAgent, joins: Joins, conversation: Conversation, settings: Settings
) -> None:
    async with wire(agent.server.url, join=False) as other:
        made = await other.server("createConversation", f"{settings.SITE_NAME}: alice")
        await other.server("createConversation", f"{settings.SITE_NAME}: alice2")
    assert (await joins(conversation))[0][0] == made["conversationId"]


async def test_users_whose_names_differ_in_case_only_do_not_share(
    agent: DirectedAgent, joins: Joins, settings: Settings
) -> None:
    of = [await in_db(make.conversation, name) for name in ("Bob", "bob", "BOB")]
    found = await joins(*of)
    assert len({upstream_id for upstream_id, _ in found}) == 3
    assert agent.server.clients_peak(found[0][0]) == 1


async def test_two_conversations_of_a_user_do_not_share(
    agent: DirectedAgent, joins: Joins, conversation: Conversation, settings: Settings
) -> None:
    async with wire(agent.server.url, join=False) as other:
        await other.server("createConversation", f"{settings.SITE_NAME}: alice")
    more = [await in_db(make.conversation, "alice") for _ in range(3)]
    found = await joins(conversation, *more)
    assert len({upstream_id for upstream_id, _ in found}) == 4


async def test_one_that_two_found_at_the_same_time_is_left_by_the_later(
    scripted: ScriptedServer, joins: Joins, conversation: Conversation, settings: Settings
) -> None:
    taken = await in_db(make.conversation, "alice")
    named = {"conversationId": "c1", "name": f"{settings.SITE_NAME}: alice"}
    asked: list[Json] = []

    def listed(_name: str) -> Json:
        asked.append(1)
        return [named]

    async def take_first(options: Json) -> Json:
        if options["conversationId"] == "c1":
            await in_db(lambda: Conversation.objects.filter(pk=taken.pk).update(upstream_id="c1"))
        return joined(options)

    scripted.answers |= {"listConversations": listed, "joinConversation": take_first}
    scripted.answers["createConversation"] = {"conversationId": "c2", "name": "made"}
    assert (await joins(conversation))[0][0] == "c2"
    assert (await scripted.wait_for("leaveConversation")).args == ["c1"]
    assert len(asked) == 2


async def test_one_that_is_deleted_before_it_is_joined_is_made_anew(
    scripted: ScriptedServer, joins: Joins, conversation: Conversation, settings: Settings
) -> None:
    lists = iter([[{"conversationId": "gone", "name": f"{settings.SITE_NAME}: alice"}], []])
    scripted.answers["listConversations"] = lambda _name: next(lists)
    gone = Refusal("Conversation not found: gone")
    scripted.answers["joinConversation"] = lambda options: (
        gone if options["conversationId"] == "gone" else joined(options)
    )
    assert (await joins(conversation))[0][0] == "c1"


@pytest.mark.parametrize("made", [{}, {"conversationId": None}, {"conversationId": ""}, [], None])
async def test_an_odd_answer_is_a_failure_like_any_other(
    scripted: ScriptedServer, open_page: OpenPage, made: Json
) -> None:
    scripted.answers["createConversation"] = made
    page = await open_page()
    await until(lambda: "could not be understood" in page.connection_text)
    scripted.answers["createConversation"] = {"conversationId": "c1", "name": "made"}
    await until(lambda: page.connection == "connected")


async def test_where_all_is_deleted_again_and_again_it_is_said(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    scripted.answers["joinConversation"] = Refusal("Conversation not found: c1")
    page = await open_page()
    await until(lambda: "again and again" in page.connection_text)


async def test_a_site_with_one_user_joins_the_servers_own_default(
    scripted: ScriptedServer, joins: Joins, conversation: Conversation, settings: Settings
) -> None:
    settings.TYPEAGENT_SHARED_DEFAULT = True
    scripted.answers["joinConversation"] = lambda o: joined(
        o if "conversationId" in o else {"conversationId": "the-default"}
    )
    second = await in_db(make.conversation, "alice")
    (first,) = await joins(conversation)
    assert first[0] == "the-default"
    assert scripted.received[0].args == [{"filter": False, "clientType": "extension"}]
    (other,) = await joins(second)
    assert other[0] == "c1"  # her second conversation has one of its own
    strange = await in_db(make.conversation, "bob")
    assert (await joins(strange))[0][0] == "the-default"


async def test_a_null_id_is_never_sent(
    scripted: ScriptedServer, joins: Joins, conversation: Conversation
) -> None:
    await joins(conversation)
    for frame in scripted.received:
        if frame.name == "joinConversation":
            assert frame.args[0].get("conversationId", "left out") is not None
            assert frame.args[0]["filter"] is False
            assert frame.args[0]["clientType"] == "extension"
