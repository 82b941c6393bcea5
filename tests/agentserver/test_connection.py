"""The life of a connection: drops, junk, failing listeners, and connecting again."""

from __future__ import annotations

import asyncio
import logging

import pytest

from chat.agentserver.errors import ConnectFailed, ConnectionLost, InvokeFailed
from chat.agentserver.events import UserRequest
from tests.agentserver.conftest import Client, MakeClient
from tests.agentserver.scripted import SILENCE, Refusal, ScriptedServer


async def test_a_drop_without_a_close_frame_is_1006(client: Client, server: ScriptedServer) -> None:
    server.drop()
    await client.until_closed()
    assert client.closes == [1006]
    assert not client.connected


async def test_a_close_frame_gives_its_code(client: Client, server: ScriptedServer) -> None:
    await server.connection.close(1012, "restart")
    await client.until_closed()
    assert client.closes == [1012]


async def test_all_that_waits_fails_on_a_drop(client: Client, server: ScriptedServer) -> None:
    server.mute = True
    waiting = [asyncio.create_task(client.invoke("c", f"m{n}")) for n in range(2)]
    await server.wait_for("m1")
    server.drop()
    for task in waiting:
        with pytest.raises(ConnectionLost, match="Agent channel disconnected") as caught:
            await task
        assert caught.value.code == 1006


async def test_the_end_is_told_when_nothing_can_be_sent_any_more(
    client: Client, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: asyncio.Queue[bool] = asyncio.Queue()
    monkeypatch.setattr(client, "_on_close", lambda code: told.put_nowait(client.connected))
    server.drop()
    assert await told.get() is False


async def test_calls_without_a_connection_fail_at_once(server: ScriptedServer) -> None:
    client = Client(server.url)
    with pytest.raises(ConnectionLost):
        await client.invoke("c", "m")
    with pytest.raises(ConnectionLost):
        client.call("c", "m")
    await client.close()


async def test_frames_in_front_of_a_drop_still_arrive(
    client: Client, server: ScriptedServer
) -> None:
    for number in range(50):
        await server.push("setUserRequest", {"requestId": "r"}, str(number))
    await server.connection.close()
    await client.until_closed()
    texts = [event.text for event in client.events if isinstance(event, UserRequest)]
    assert texts == [str(number) for number in range(50)]


async def test_of_two_attempts_the_later_one_counts(
    server: ScriptedServer, make_client: MakeClient
) -> None:
    server.hang_upgrades = True
    client = make_client()
    attempt = asyncio.create_task(client.connect())
    await server.wait_until(lambda: len(server.upgrades) == 1)
    server.hang_upgrades = False
    await client.connect()
    server.let_go()
    with pytest.raises(ConnectFailed, match="took the place"):
        await attempt
    await server.wait_until(lambda: len(server.connections) == 2 and server.live == 1)
    server.answers["m"] = "here"
    assert await client.invoke("c", "m") == "here"


async def test_a_replaced_socket_is_closed_first_and_says_nothing_more(
    client: Client, server: ScriptedServer
) -> None:
    server.answers["m"] = SILENCE
    waiting = asyncio.create_task(client.invoke("c", "m"))
    await server.wait_for("m")
    await client.connect()
    with pytest.raises(ConnectionLost, match="Agent channel rebound"):
        await waiting
    assert (server.peak, client.closes) == (1, [])
    # Conversations are joined per socket: the channel of the old one is not open on this one.
    await server.push("setUserRequest", {"requestId": "r"}, "hi")
    await client.join("c1")
    assert client.events == []


async def test_a_server_that_comes_back_is_found_again(
    client: Client, server: ScriptedServer
) -> None:
    await server.stop()
    await client.until_closed()
    with pytest.raises(ConnectFailed):
        await client.connect()
    await server.start_again()
    await client.connect()
    assert (await client.join("c1")).conversation_id == "c1"
    assert client.closes == [1006]


@pytest.mark.parametrize(
    "junk",
    [
        "not json",
        "null",
        "[1]",
        '{"name":"clientio:c1","message":{"type":"call","name":"setDisplay","args":["x"]}}',
        '{"name":"clientio:c1","message":{"type":"call","name":"setDisplay","args":5}}',
        '{"name":"clientio:c1","message":{"type":"invokeResult","callId":0}}',
        b'{"name":"x","message":"\xff"}',
        b"\x00\xff",
    ],
)
async def test_junk_costs_nothing_but_itself(
    junk: str | bytes, client: Client, server: ScriptedServer
) -> None:
    await server.send(junk)
    server.answers["m"] = "still here"
    assert await client.invoke("c", "m") == "still here"
    assert (client.events, client.closes) == ([], [])


async def test_a_binary_frame_counts_like_a_text_one(
    client: Client, server: ScriptedServer
) -> None:
    frame = b'{"name":"clientio:c1","message":{"type":"call","name":"exit","args":[{}]}}'
    await server.connection.send(frame)
    await client.until(lambda: len(client.events) == 1)


async def test_lone_surrogates_go_both_ways(client: Client, server: ScriptedServer) -> None:
    await server.push("setUserRequest", {"requestId": "r"}, "a\ud83d")
    await client.until(lambda: len(client.events) == 1)
    [event] = client.events
    assert isinstance(event, UserRequest)
    assert event.text == "a\ud83d"
    server.answers["submitCommand"] = {"ok": True}
    await client.submit("c1", "b\ude00", "r")
    assert (await server.wait_for("submitCommand")).args[0] == "b\ude00"


async def test_a_failing_listener_does_not_end_the_connection(
    client: Client,
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen = []

    def fail(event: object) -> None:
        seen.append(event)
        raise RuntimeError("listener")

    monkeypatch.setattr(client, "_on_event", fail)
    await server.push("exit", {})
    await server.push("exit", {})
    server.answers["m"] = 1
    assert await client.invoke("c", "m") == 1
    assert len(seen) == client.events_delivered == 2
    assert "the connection goes on" in caplog.text


async def test_a_failing_listener_of_the_end_is_logged(
    client: Client,
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended = asyncio.Event()

    def fail(code: int | None) -> None:
        ended.set()
        raise RuntimeError("listener")

    monkeypatch.setattr(client, "_on_close", fail)
    server.drop()
    await ended.wait()
    assert "failed to handle the end" in caplog.text
    await client.connect()


async def test_a_refusal_arrives_with_all_that_it_says(
    client: Client, server: ScriptedServer
) -> None:
    server.answers["m"] = Refusal("no", cancelled=True, markdown="**no**")
    with pytest.raises(InvokeFailed, match="no") as caught:
        await client.invoke("c", "m")
    assert (caught.value.cancelled, caught.value.markdown) == (True, "**no**")


async def test_what_users_wrote_is_not_logged(
    client: Client, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        await server.push("setUserRequest", {"requestId": "r"}, "a private word")
        await server.push("a private word", "a private word")
        await server.push("setDisplay", "a private word")
        await server.send('"a private word"')
        await server.push("exit", {}, conversation="private")
        server.answers["submitCommand"] = {"ok": True}
        await client.submit("c1", "a private word", "r")
    assert "a call of an unknown name" in caplog.text
    assert "private" not in caplog.text
