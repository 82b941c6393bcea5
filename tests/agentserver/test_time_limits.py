"""Answers that come late, never, or to nobody."""

from __future__ import annotations

import asyncio
import json

import pytest

from chat.agentserver.errors import InvokeTimedOut
from chat.agentserver.events import Json
from tests.agentserver.conftest import Client, MakeClient
from tests.agentserver.scripted import SILENCE, ScriptedServer, joined


async def test_a_mute_peer_costs_a_call_its_time_only(
    client: Client, server: ScriptedServer
) -> None:
    server.answers["m"] = SILENCE
    with pytest.raises(InvokeTimedOut, match=r"m within 0\.02 s") as caught:
        await client.invoke("c", "m", timeout_s=0.02)
    assert (caught.value.method, caught.value.seconds) == ("m", 0.02)
    server.answers["m"] = "answered"
    assert await client.invoke("c", "m") == "answered"


async def test_every_call_has_a_time_limit(server: ScriptedServer, make_client: MakeClient) -> None:
    client = make_client(invoke_timeout_s=0.02)
    await client.connect()
    server.mute = True
    for call in (
        client.join(),
        client.leave("c1"),
        client.submit("c1", "hi", "r"),
        client.cancel("c1", "r"),
        client.queue_snapshot("c1"),
        client.history("c1"),
        client.list_conversations(),
        client.create_conversation("n"),
        client.respond_to_choice("c1", "x", True),
        client.respond_to_interaction("c1", "i", 0),
    ):
        with pytest.raises(InvokeTimedOut):
            await call


async def test_an_answer_after_the_time_limit_changes_nothing(
    client: Client, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    late = asyncio.Event()

    async def answer(*args: Json) -> Json:
        await late.wait()
        return "late"

    server.answers["m"] = answer
    with pytest.raises(InvokeTimedOut):
        await client.invoke("c", "m", timeout_s=0.02)
    late.set()
    server.answers["n"] = "on time"
    assert await client.invoke("c", "n") == "on time"
    assert caplog.text == ""


async def test_a_late_answer_to_a_join_opens_no_channel(
    server: ScriptedServer, make_client: MakeClient
) -> None:
    late = asyncio.Event()

    async def answer(*args: Json) -> Json:
        await late.wait()
        return joined()

    client = make_client(invoke_timeout_s=0.02)
    await client.connect()
    server.answers |= {"joinConversation": answer, "m": 1}
    with pytest.raises(InvokeTimedOut):
        await client.join("c1")
    late.set()
    await client.invoke("c", "m", timeout_s=5)
    await server.push("exit", {})
    await client.invoke("c", "m", timeout_s=5)
    assert client.events == []


async def test_a_caller_that_gives_up_leaves_nothing_behind(
    client: Client, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers["m"] = SILENCE
    waiting = asyncio.create_task(client.invoke("c", "m"))
    frame = await server.wait_for("m")
    waiting.cancel()
    await asyncio.wait([waiting])
    answer = {"type": "invokeResult", "callId": frame.message["callId"]}
    await server.send({"name": "c", "message": answer})
    server.answers["n"] = 1
    assert await client.invoke("c", "n") == 1
    assert caplog.text == ""


async def test_an_answer_in_the_very_turn_of_giving_up_changes_nothing(
    client: Client, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers["m"] = SILENCE
    waiting = asyncio.create_task(client.invoke("c", "m"))
    frame = await server.wait_for("m")
    answer = {"type": "invokeResult", "callId": frame.message["callId"]}
    waiting.cancel()
    assert client._rpc is not None
    client._rpc.receive(json.dumps({"name": "c", "message": answer}))
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert caplog.text == ""
