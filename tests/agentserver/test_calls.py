"""The typed calls: what is sent, and what is made of the answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from chat.agentserver.client import AgentServerClient, Joined, Submitted
from chat.agentserver.errors import InvokeFailed, UnexpectedAnswer
from chat.agentserver.events import Json
from tests.agentserver.conftest import Client
from tests.agentserver.scripted import Refusal, ScriptedServer, joined


async def test_a_join_without_an_id_leaves_the_key_out(
    client: Client, server: ScriptedServer
) -> None:
    await client.join()
    frame = await server.wait_for("joinConversation", 2)
    assert frame.channel == "agent-server"
    assert frame.args == [{"filter": False, "clientType": "extension"}]


async def test_a_join_names_its_conversation(client: Client, server: ScriptedServer) -> None:
    result = await client.join("c7")
    options = {"filter": False, "clientType": "extension", "conversationId": "c7"}
    assert (await server.wait_for("joinConversation", 2)).args == [options]
    assert result == Joined("0", "c7", "default", (), None)


async def test_a_join_brings_the_queue_and_the_open_questions(
    client: Client, server: ScriptedServer
) -> None:
    question = {"interactionId": "i1", "type": "question", "message": "Which?", "choices": ["A"]}
    snapshot = {"running": {"requestId": "r"}, "queued": [], "paused": False, "version": 27}
    server.answers["joinConversation"] = joined(
        pendingInteractions=[question, "junk", {}], queueSnapshot=snapshot
    )
    result = await client.join()
    assert [(q.interaction_id, q.conversation_id) for q in result.pending_interactions] == [
        ("i1", "c1")
    ]
    assert result.queue_snapshot is not None
    assert result.queue_snapshot.version == 27
    assert [entry.request_id for entry in result.queue_snapshot.entries()] == ["r"]


async def test_a_join_may_bring_nothing_but_the_id(client: Client, server: ScriptedServer) -> None:
    server.answers["joinConversation"] = {"conversationId": "c9"}
    assert await client.join() == Joined("", "c9", "", (), None)


async def test_a_submit_gives_our_id_as_both_ids(client: Client, server: ScriptedServer) -> None:
    entry = {"requestId": "r1", "state": "queued", "text": "hi"}
    server.answers["submitCommand"] = {"ok": True, "entry": entry}
    submitted = await client.submit("c1", "hi", "r1")
    frame = await server.wait_for("submitCommand")
    assert frame.channel == "dispatcher:c1"
    assert frame.args == ["hi", None, None, "r1", "r1"]
    assert submitted.entry is not None
    assert (submitted.ok, submitted.entry.request_id, submitted.error) == (True, "r1", None)


async def test_a_refused_submit_is_an_answer_and_no_error(
    client: Client, server: ScriptedServer
) -> None:
    server.answers["submitCommand"] = {"ok": False, "error": "queue_full", "maxDepth": 100}
    assert await client.submit("c1", "x", "r") == Submitted(False, None, "queue_full", 100)
    server.answers["submitCommand"] = {"ok": False, "error": "server_stopping"}
    assert await client.submit("c1", "x", "r") == Submitted(False, None, "server_stopping", None)


@pytest.mark.parametrize("kind", ["cancelled_queued", "cancelled_running", "not_found"])
async def test_a_cancel_tells_what_it_found(
    kind: str, client: Client, server: ScriptedServer
) -> None:
    server.answers["cancelCommand"] = {"kind": kind, "requestId": "r"}
    assert await client.cancel("c1", "r") == kind


async def test_the_queue_can_be_asked_for(client: Client, server: ScriptedServer) -> None:
    server.answers["getQueueSnapshot"] = {"running": None, "queued": [], "version": 3}
    snapshot = await client.queue_snapshot("c1")
    assert (snapshot.version, snapshot.entries()) == (3, ())


async def test_a_history_of_all_leaves_the_argument_out(
    client: Client, server: ScriptedServer
) -> None:
    server.answers["getDisplayHistory"] = [{"seq": 0}, "junk", {"seq": 1}]
    assert await client.history("c1") == [{"seq": 0}, {"seq": 1}]
    assert (await server.wait_for("getDisplayHistory")).args == []
    await client.history("c1", 0)
    assert (await server.wait_for("getDisplayHistory", 2)).args == [0]


async def test_conversations_are_made_with_or_without_a_number(
    client: Client, server: ScriptedServer
) -> None:
    server.answers["createConversation"] = lambda name, *_: {"conversationId": "c5", "name": name}
    assert (await client.create_conversation("a"))["conversationId"] == "c5"
    await client.create_conversation("a", append_number=True)
    assert (await server.wait_for("createConversation")).args == ["a"]
    assert (await server.wait_for("createConversation", 2)).args == [
        "a",
        {"nameCollisionBehavior": "appendNumber"},
    ]


async def test_conversations_are_listed_by_a_part_of_their_name(
    client: Client, server: ScriptedServer
) -> None:
    server.answers["listConversations"] = [{"name": "alpha"}, None]
    assert await client.list_conversations("alp") == [{"name": "alpha"}]
    await client.list_conversations()
    assert (await server.wait_for("listConversations")).args == ["alp"]
    assert (await server.wait_for("listConversations", 2)).args == []


async def test_prompts_are_answered_and_withdrawn(client: Client, server: ScriptedServer) -> None:
    server.answers |= {"respondToChoice": {"lastError": "x"}, "respondToInteraction": None}
    assert await client.respond_to_choice("c1", "x1", [0, 2]) == {"lastError": "x"}
    await client.respond_to_interaction("c1", "i1", 1)
    client.cancel_interaction("c1", "i2")
    assert (await server.wait_for("respondToChoice")).args == ["x1", [0, 2]]
    [response] = (await server.wait_for("respondToInteraction")).args
    assert response == {"interactionId": "i1", "type": "question", "value": 1}
    assert (await server.wait_for("cancelInteraction")).args == ["i2"]


async def test_leaving_what_is_not_joined_is_the_servers_to_refuse(
    client: Client, server: ScriptedServer
) -> None:
    server.answers["leaveConversation"] = Refusal("Not joined to conversation: c3")
    with pytest.raises(InvokeFailed, match="Not joined"):
        await client.leave("c3")


@pytest.mark.parametrize("answer", [None, 5, "x", {"ok": None}])
@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("joinConversation", lambda client: client.join()),
        ("getDisplayHistory", lambda client: client.history("c1")),
        ("listConversations", lambda client: client.list_conversations()),
        ("getQueueSnapshot", lambda client: client.queue_snapshot("c1")),
        ("submitCommand", lambda client: client.submit("c1", "x", "r")),
        ("cancelCommand", lambda client: client.cancel("c1", "r")),
        ("createConversation", lambda client: client.create_conversation("n")),
    ],
)
async def test_an_answer_of_the_wrong_shape_is_an_error_of_the_call(
    answer: Json,
    method: str,
    call: Callable[[AgentServerClient], Awaitable[object]],
    client: Client,
    server: ScriptedServer,
) -> None:
    server.answers[method] = answer
    if isinstance(answer, dict) and method not in (
        "joinConversation",
        "getDisplayHistory",
        "listConversations",
    ):
        await call(client)
        return
    with pytest.raises(UnexpectedAnswer, match=method):
        await call(client)
    assert client.connected
