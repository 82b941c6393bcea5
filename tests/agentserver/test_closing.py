"""Closing for good, whatever is under way."""

from __future__ import annotations

import asyncio

import pytest

from chat.agentserver import transport
from chat.agentserver.errors import ConnectFailed, ConnectionLost
from tests.agentserver.conftest import Client, MakeClient
from tests.agentserver.scripted import ScriptedServer

MIB = 2**20


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
