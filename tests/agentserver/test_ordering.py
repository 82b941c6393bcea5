"""Answers and events in the order of their frames, and the cut that a history makes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from chat.agentserver.events import AppendDisplay, Json, RequestQueued, UserRequest
from tests.agentserver.conftest import Client
from tests.agentserver.scripted import ScriptedServer

BEFORE, AFTER = 30, 30


def answer_between(server: ScriptedServer, answer: Json) -> Callable[..., Awaitable[Json]]:
    """An answer with events right in front of it and right behind it."""

    async def answerer(*args: Json) -> Json:
        for number in range(BEFORE):
            await server.push("setUserRequest", {"requestId": "r"}, str(number))
        asyncio.get_running_loop().call_soon(follow.set)
        return answer

    async def push_more() -> None:
        await follow.wait()
        for number in range(AFTER):
            await server.push("setUserRequest", {"requestId": "r"}, str(BEFORE + number))

    follow = asyncio.Event()
    server.background(push_more())
    return answerer


async def test_an_answer_comes_after_all_events_before_it_and_before_all_after_it(
    client: Client, server: ScriptedServer
) -> None:
    server.answers["getDisplayHistory"] = answer_between(server, [{"seq": 0}])
    entries = await client.history("c1")
    assert entries == [{"seq": 0}]
    assert len(client.events) == BEFORE
    await client.until(lambda: len(client.events) == BEFORE + AFTER)
    texts = [event.text for event in client.events if isinstance(event, UserRequest)]
    assert texts == [str(number) for number in range(BEFORE + AFTER)]


async def test_the_cut_tells_the_events_before_the_answer_even_to_a_late_caller(
    client: Client, server: ScriptedServer
) -> None:
    await server.push("exit", {})
    await client.until(lambda: len(client.events) == 1)
    server.answers["getDisplayHistory"] = answer_between(server, [])
    waiting = asyncio.create_task(client.history_with_cut("c1"))
    await client.until(lambda: client.events_delivered == 1 + BEFORE + AFTER)
    assert await waiting == ([], 1 + BEFORE)


async def test_frames_in_one_packet_are_still_told_apart(
    client: Client, server: ScriptedServer
) -> None:
    """Nothing but the order counts: both events and the answer are read at once."""

    async def answerer(*args: Json) -> Json:
        connection = server.connection
        call = '{"name":"clientio:c1","message":{"type":"call","name":"exit","args":[{}]}}'
        answer = '{"name":"dispatcher:c1","message":{"type":"invokeResult","callId":1,"result":[]}}'
        for text in (call, answer, call, call):
            connection.protocol.send_text(text.encode())
        connection.send_data()
        return await asyncio.Event().wait()

    server.answers["getDisplayHistory"] = answerer
    assert await client.history("c1") == []
    assert len(client.events) == 1
    await client.until(lambda: len(client.events) == 3)


async def test_output_and_queue_come_before_the_ack(client: Client, server: ScriptedServer) -> None:
    entry = {"requestId": "r", "state": "running"}

    async def ack(*args: Json) -> Json:
        await server.push("requestQueued", entry, 1)
        await server.push("appendDisplay", {"message": "x", "requestId": entry}, "block")
        return {"ok": True, "entry": entry}

    server.answers["submitCommand"] = ack
    submitted = await client.submit("c1", "hi", "r")
    assert submitted.ok
    assert [type(event) for event in client.events] == [RequestQueued, AppendDisplay]


async def test_the_first_frames_after_a_join_are_not_lost(
    client: Client, server: ScriptedServer
) -> None:
    server.answers["joinConversation"] = answer_after_join(server)
    await client.join("c2")
    await client.until(lambda: len(client.events) == AFTER)
    assert {event.conversation_id for event in client.events} == {"c2"}


def answer_after_join(server: ScriptedServer) -> Callable[..., Awaitable[Json]]:
    async def push() -> None:
        await follow.wait()
        for _ in range(AFTER):
            await server.push("exit", {}, conversation="c2")

    async def answerer(*args: Json) -> Json:
        asyncio.get_running_loop().call_soon(follow.set)
        return {"connectionId": "0", "conversationId": "c2", "name": "two"}

    follow = asyncio.Event()
    server.background(push())
    return answerer


async def test_frames_of_a_channel_that_is_not_open_are_dropped(
    client: Client, server: ScriptedServer
) -> None:
    await server.push("exit", {}, conversation="c2")
    await client.join("c2")
    await server.push("exit", {}, conversation="c2")
    await client.until(lambda: len(client.events) == 1)
    await client.leave("c2")
    await server.push("exit", {}, conversation="c2")
    server.answers["m"] = 1
    await client.invoke("c", "m")
    assert [event.conversation_id for event in client.events] == ["c2"]


@pytest.mark.parametrize("count", [2000])
async def test_a_burst_arrives_whole_and_leaves_the_loop_to_others(
    count: int, client: Client, server: ScriptedServer
) -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while len(client.events) < count:
            turns += 1
            await asyncio.sleep(0)

    watching = asyncio.create_task(other())
    for number in range(count):
        await server.push("setUserRequest", {"requestId": "r"}, str(number))
    await client.until(lambda: len(client.events) == count)
    await watching
    texts = [event.text for event in client.events if isinstance(event, UserRequest)]
    assert texts == [str(number) for number in range(count)]
    assert turns >= count / 2
