"""Sockets that drop, servers that end, conversations that are unloaded or deleted (WIRE.md 11)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from chat.localagent import LocalAgent, Settings

from .client import Refused, eventually, wire
from .conftest import QUICK


async def test_the_counters_tell_what_is_joined_and_was(agent: LocalAgent) -> None:
    async with wire(agent.url) as a:
        async with wire(agent.url) as b:
            assert agent.connections_now == 2
            assert agent.clients_now(b.conversation_id) == 2
            await b.run("@demo text")
        await eventually(lambda: agent.connections_now == 1)
        assert agent.clients_now(a.conversation_id) == 1
        assert agent.clients_peak(a.conversation_id) == 2
        assert (agent.connections_peak, agent.submits) == (2, 1)
        assert agent.clients_peak("unknown") == agent.clients_now("unknown") == 0


async def test_all_sockets_can_be_dropped_without_a_close_frame(agent: LocalAgent) -> None:
    async with wire(agent.url) as a, wire(agent.url, join=False) as b:
        agent.drop_all()
        for client in (a, b):
            await client.closed.wait()
            assert client.socket.close_code == 1006
    await eventually(lambda: agent.connections_now == 0)


async def test_a_command_goes_on_without_its_client(agent: LocalAgent) -> None:
    async with wire(agent.url) as a:
        await a.submit("@demo stream 1000 100 20")
        await a.drop()
    async with wire(agent.url) as b:
        await b.complete()
        assert b.connection_id == "1"
        history = await b.ask("getDisplayHistory")
        assert history[-1]["type"] == "command-result"


async def test_a_silent_socket_is_cut_off_at_the_second_sweep(tmp_path: Path) -> None:
    settings = replace(QUICK, ping_interval_s=0.5)
    async with LocalAgent(tmp_path, settings).serving() as server, wire(server.url) as client:
        await eventually(lambda: any(ping.done() for ping in server._pings.values()))
        assert server.connections_now == 1, "one that answers stays"
        client.socket.transport.pause_reading()
        await eventually(lambda: server.connections_now == 0)
        client.socket.transport.resume_reading()


async def test_a_conversation_is_unloaded_only_when_nothing_runs(tmp_path: Path) -> None:
    settings = replace(QUICK, idle_s=0.02)
    async with LocalAgent(tmp_path, settings).serving() as server:
        async with wire(server.url) as client:
            conversation_id = client.conversation_id
            await client.submit("@demo question")
        await eventually(lambda: server.clients_now(conversation_id) == 0)
        await asyncio.sleep(0.06)
        conversation = server.loaded(conversation_id)
        assert conversation is not None
        conversation.prompts.cancel_of_requests()
        await eventually(lambda: server.loaded(conversation_id) is None)
        assert server.history(conversation_id)[-1]["type"] == "command-result"


async def test_a_deletion_does_not_wait_for_ever(tmp_path: Path) -> None:
    settings = Settings(drain_s=0.05)
    async with LocalAgent(tmp_path, settings).serving() as server, wire(server.url) as client:
        await client.submit("@slow 600")
        await client.server("deleteConversation", client.conversation_id)
        with pytest.raises(Refused, match="Conversation not found"):
            await client.join(client.conversation_id)


async def test_a_rename_shows_in_the_next_join(agent: LocalAgent) -> None:
    async with wire(agent.url) as a, wire(agent.url, join=False) as b:
        await b.server("renameConversation", a.conversation_id, "New name")
        assert (await b.join(a.conversation_id))["name"] == "New name"


async def test_a_drain_lets_the_running_command_end(tmp_path: Path) -> None:
    async with LocalAgent(tmp_path, QUICK).serving() as server, wire(server.url) as client:
        conversation_id = client.conversation_id
        await client.submit("@test show ask")
        await client.submit("@demo text", "waits")
        drain = asyncio.create_task(server.drain())
        await eventually(lambda: not server.listening)
        seen = len(client.frames)
        assert await client.server("listMacros") == [], "the socket itself still answers"
        joined = await client.join(conversation_id)
        assert joined["queueSnapshot"]["queued"][0]["clientRequestId"] == "waits"
        answer = await client.ask("submitCommand", "@demo text")
        assert answer["error"] == "server_stopping"
        assert not drain.done()
        (question,) = joined["pendingInteractions"]
        await client.ask("respondToInteraction", {**question, "value": 0})
        await drain
        assert client.frames[seen]["message"]["type"] == "invokeResult", "nothing was pushed"
        cancelled = await client.event("requestCancelled")
        assert cancelled[1] == "server_stopping"
        results = [e for e in server.history(conversation_id) if e["type"] == "command-result"]
        assert len(results) == 1


async def test_a_drain_ends_what_takes_too_long(tmp_path: Path) -> None:
    settings = Settings(drain_s=0.05)
    async with LocalAgent(tmp_path, settings).serving() as server, wire(server.url) as client:
        await client.submit("@slow 600")
        drain = asyncio.create_task(server.drain())
        await asyncio.sleep(0)
        await client.join(client.conversation_id)
        await drain
        assert (await client.event("requestCancelled"))[1] == "server_stopping"


async def test_a_drain_with_nothing_to_wait_for_ends_at_once(agent: LocalAgent) -> None:
    async with asyncio.timeout(1):
        await agent.drain()


async def test_what_is_loaded_during_a_drain_takes_no_work(agent: LocalAgent) -> None:
    async with wire(agent.url, join=False) as client:
        await agent.drain()
        await client.join()
        answer = await client.ask("submitCommand", "@demo text")
        assert answer == {"ok": False, "error": "server_stopping"}


async def test_a_restart_asked_for_by_a_client_ends_every_socket(agent: LocalAgent) -> None:
    async with wire(agent.url) as a, wire(agent.url) as b:
        await a.begin("agent-server", "restart")
        await asyncio.gather(a.closed.wait(), b.closed.wait())
        assert await agent.ended == "restart"
        assert not agent.listening


async def test_the_restart_command_ends_it_too(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await client.begin(
            f"dispatcher:{client.conversation_id}", "submitCommand", "@server restart"
        )
        assert await agent.ended == "restart"
        await client.closed.wait()


async def test_a_taken_port_is_an_error(agent: LocalAgent, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="in use"):
        async with LocalAgent(tmp_path / "other").serving(agent.port):
            raise AssertionError("it must not serve")


async def test_an_unanswered_question_gets_its_default_in_time(tmp_path: Path) -> None:
    settings = replace(QUICK, interaction_timeout_s=0.02)
    async with LocalAgent(tmp_path, settings).serving() as server, wire(server.url) as client:
        await client.run("@test show ask")
        assert client.shown() == ["popup answered 1"]
        assert client.calls("interactionCancelled")
