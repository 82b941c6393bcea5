"""What the agent-server invokes and calls here, and how it is answered."""

from __future__ import annotations

import asyncio

import pytest

from chat.agentserver.errors import InvokeFailed
from chat.agentserver.events import Json
from tests.agentserver.conftest import Client
from tests.agentserver.scripted import ScriptedServer


@pytest.mark.parametrize("channel", ["clientio:c1", "clientio:other", "agent:x", "zz", ""])
async def test_every_invoke_is_answered(
    channel: str, client: Client, server: ScriptedServer
) -> None:
    await server.invoke(channel, "getUserContext", {"requestId": "r"}, call_id=3)
    answer = await server.wait_for_answer(3)
    assert answer == {
        "type": "invokeError",
        "callId": 3,
        "error": "No invoke handler getUserContext",
    }


async def test_a_handler_answers_its_method(client: Client, server: ScriptedServer) -> None:
    async def double(value: int) -> Json:
        if value < 0:
            raise InvokeFailed("negative", cancelled=True, markdown="*negative*")
        return value * 2

    client.handle("agent:x", "double", double)
    await server.invoke("agent:x", "double", 21)
    assert await server.wait_for_answer() == {"type": "invokeResult", "callId": 0, "result": 42}
    await server.invoke("agent:x", "double", -1, call_id=1)
    assert await server.wait_for_answer(1) == {
        "type": "invokeError",
        "callId": 1,
        "error": "negative",
        "cancelled": True,
        "errorMarkdown": "*negative*",
    }


async def test_a_handler_that_breaks_still_answers(
    client: Client, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def unsendable() -> Json:
        return object()

    client.handle("agent:x", "broken", unsendable)
    await server.invoke("agent:x", "broken")
    await server.invoke("agent:x", "broken", "too many", call_id=1)
    for number in (0, 1):
        answer = await server.wait_for_answer(number)
        assert answer == {"type": "invokeError", "callId": number, "error": "Internal error"}
    assert caplog.text.count("the handler of an invoke failed") == 2


async def test_a_handler_of_a_call_answers_nothing(
    client: Client, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    called = asyncio.Event()

    async def cancel_action(*args: Json) -> Json:
        called.set()
        raise RuntimeError("broken")

    client.handle("clientio:c1", "cancelAction", cancel_action)
    await server.push("cancelAction", {})
    await called.wait()
    server.answers["m"] = 1
    await client.invoke("c", "m")
    assert [f.message for f in server.received if f.message["type"] == "invokeError"] == []
    assert "the handler of a call failed" in caplog.text


async def test_a_handler_ends_with_its_connection(client: Client, server: ScriptedServer) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def wait() -> Json:
        started.set()
        try:
            return await asyncio.Event().wait()
        finally:
            cancelled.set()

    client.handle("agent:x", "wait", wait)
    await server.invoke("agent:x", "wait")
    await started.wait()
    server.drop()
    await cancelled.wait()
    await client.connect()
    assert [f for f in server.received if f.channel == "agent:x"] == []


async def test_a_conversation_joined_again_asks_from_zero_again(
    client: Client, server: ScriptedServer
) -> None:
    asked: asyncio.Queue[Json] = asyncio.Queue()

    async def user_context(question: Json) -> Json:
        asked.put_nowait(question)
        return await asyncio.Event().wait()

    client.handle("clientio:c1", "getUserContext", user_context)
    for question in ("before", "after"):
        await server.invoke("clientio:c1", "getUserContext", question)
        assert await asked.get() == question
        await client.leave("c1")
        await client.join("c1")
