"""Peers that are half open, mute for good, or send too much."""

from __future__ import annotations

import asyncio

import pytest
from websockets.frames import Frame, Opcode

from chat.agentserver.errors import ConnectionLost
from chat.agentserver.events import UserRequest
from tests.agentserver.conftest import Client, MakeClient
from tests.agentserver.scripted import ScriptedServer
from tests.processes import PATIENCE_S

MIB = 2**20


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
    async with asyncio.timeout(PATIENCE_S):
        await answered.wait()
    assert (client.connected, client.closes) == (True, [])


async def test_a_peer_whose_pongs_are_late_but_that_still_sends_is_alive(
    server: ScriptedServer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a slow line, where a pong waits behind what was sent before it."""
    client = make_client(ping_interval_s=0.2)
    await client.connect()
    protocol = server.connection.protocol
    send_frame = protocol.send_frame

    def lose_pongs(frame: Frame) -> None:
        if frame.opcode is not Opcode.PONG:
            send_frame(frame)

    monkeypatch.setattr(protocol, "send_frame", lose_pongs)
    for number in range(40):
        await server.push("setUserRequest", {"requestId": f"{number}"}, "x")
        await asyncio.sleep(0.02)
    assert (client.connected, client.closes) == (True, [])
    await client.until_closed()
    assert client.closes == [1006]


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
