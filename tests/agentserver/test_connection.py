"""The life of a connection: drops, silence, sizes, closing, and connecting again."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from websockets.frames import Frame, Opcode

from chat.agentserver import transport
from chat.agentserver.errors import ConnectFailed, ConnectionLost, InvokeFailed, InvokeTimedOut
from chat.agentserver.events import Json, UserRequest
from tests.agentserver.conftest import Client, MakeClient
from tests.agentserver.scripted import SILENCE, WAIT_S, Refusal, ScriptedServer, joined

MIB = 2**20


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


async def test_a_peer_that_stops_answering_pings_is_dead(
    server: ScriptedServer, make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client(ping_interval_s=0.05)
    await client.connect()
    server.stop_reading()
    waiting = asyncio.create_task(client.invoke("c", "m"))
    await client.until_closed()
    assert client.closes == [1006]
    with pytest.raises(ConnectionLost):
        await waiting
    assert "left 2 pings unanswered" in caplog.text


async def test_a_peer_that_does_not_even_take_what_we_send_is_dead(
    server: ScriptedServer, make_client: MakeClient
) -> None:
    """Its buffers are full, so that even a ping cannot be written."""
    client = make_client(ping_interval_s=0.1)
    await client.connect()
    server.stop_reading()
    client.call("c", "m", "x" * 32 * MIB)
    await client.until_closed()
    assert client.closes == [1006]


async def test_one_missed_ping_is_forgiven(
    server: ScriptedServer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client(ping_interval_s=0.2)
    await client.connect()
    protocol = server.connection.protocol
    send_frame, pongs, answered = protocol.send_frame, [], asyncio.Event()

    def lose_the_first_pong(frame: Frame) -> None:
        if frame.opcode is Opcode.PONG:
            pongs.append(frame)
            if len(pongs) == 1:
                return
            if len(pongs) == 4:
                answered.set()
        send_frame(frame)

    monkeypatch.setattr(protocol, "send_frame", lose_the_first_pong)
    async with asyncio.timeout(WAIT_S):
        await answered.wait()
    assert (client.connected, client.closes) == (True, [])


async def test_a_frame_of_15_mib_arrives(client: Client, server: ScriptedServer) -> None:
    await server.push("setUserRequest", {"requestId": "r"}, "x" * 15 * MIB)
    await client.until(lambda: len(client.events) == 1)
    [event] = client.events
    assert isinstance(event, UserRequest)
    assert len(event.text) == 15 * MIB


async def test_a_frame_over_the_limit_closes_with_1009(
    client: Client, server: ScriptedServer
) -> None:
    await server.push("setUserRequest", {"requestId": "r"}, "x" * 16 * MIB)
    await client.until_closed()
    assert client.closes == [1009]
    assert client.events == []


async def test_a_limit_can_be_set(server: ScriptedServer, make_client: MakeClient) -> None:
    client = make_client(max_frame_bytes=1000)
    await client.connect()
    await server.send("x" * 1001)
    await client.until_closed()
    assert client.closes == [1009]


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


async def test_closing_is_quiet_and_can_be_repeated(client: Client, server: ScriptedServer) -> None:
    await client.close()
    await client.close()
    await server.wait_until(lambda: server.live == 0)
    assert server.connection.close_code == 1000
    assert client.closes == []


async def test_closing_fails_what_waits(client: Client, server: ScriptedServer) -> None:
    server.mute = True
    waiting = asyncio.create_task(client.invoke("c", "m"))
    await server.wait_for("m")
    await client.close()
    with pytest.raises(ConnectionLost):
        await waiting


async def test_closing_sends_what_is_in_line_first(client: Client, server: ScriptedServer) -> None:
    client.cancel_interaction("c1", "i1")
    await client.close()
    frame = await server.wait_for("cancelInteraction")
    assert (frame.channel, frame.args) == ("dispatcher:c1", ["i1"])


async def test_closing_does_not_wait_for_a_dead_peer(
    client: Client, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "CLOSE_TIMEOUT_S", 0.05)
    server.stop_reading()
    client.call("c", "m", "x" * 32 * MIB)
    await client.close()
    assert client.closes == []


async def test_a_closed_client_stays_closed(client: Client, server: ScriptedServer) -> None:
    await client.close()
    with pytest.raises(ConnectFailed, match="closed for good"):
        await client.connect()
    assert len(server.connections) == 1


async def test_closing_wins_over_an_attempt_under_way(
    server: ScriptedServer, make_client: MakeClient
) -> None:
    server.hang_upgrades = True
    client = make_client()
    attempt = asyncio.create_task(client.connect())
    await server.wait_until(lambda: len(server.upgrades) == 1)
    await client.close()
    server.let_go()
    with pytest.raises(ConnectFailed, match="closed for good"):
        await attempt
    await server.wait_until(lambda: server.live == 0)
    assert client.closes == []


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
        await server.push("sing", "a private word")
        await server.push("setDisplay", "a private word")
        await server.send('"a private word"')
        await server.push("exit", {}, conversation="private")
        server.answers["submitCommand"] = {"ok": True}
        await client.submit("c1", "a private word", "r")
    assert "sing" in caplog.text
    assert "private" not in caplog.text
