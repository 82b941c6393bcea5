"""Whatever a client sends, its socket stays open: the table of WIRE.md 2 beyond the recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from chat.localagent import LocalAgent, Settings

from .client import Refused, Wire, wire


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ([], "Cannot read properties of undefined (reading 'matchAll')"),
        ([None], "Cannot read properties of null (reading 'matchAll')"),
        ([5], "request.matchAll is not a function"),
    ],
)
async def test_a_submit_needs_a_text(agent: LocalAgent, args: list[Any], error: str) -> None:
    async with wire(agent.url) as client:
        with pytest.raises(Refused) as raised:
            await client.ask("submitCommand", *args)
        assert str(raised.value) == error


async def test_an_empty_text_completes(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        assert "lastError" not in await client.run("")


async def test_a_second_invoke_with_the_same_number_in_flight_is_dropped(tmp_path: Path) -> None:
    settings = Settings(pace=0.01)
    async with LocalAgent(tmp_path, settings).serving() as server, wire(server.url) as client:
        await client.submit("@slow 10")
        frame = _delete(client, 77)
        await client.send(frame)
        await client.send(frame)
        await client.answer("agent-server", 77)
        await client.server("getUserIdentity")
        answers = [f for f in client.frames if f["message"].get("callId") == 77]
        assert len(answers) == 1


@pytest.mark.parametrize(
    "raw",
    [
        b"\xff\xfe\x00 no text",
        '{"name":"agent-server","message":{"type":"invoke","callId":true,"name":"x","args":[]}}',
        '{"name":"agent-server","message":{"type":"invoke","callId":NaN,"name":"x","args":[]}}',
        '{"name":5,"message":{"type":"invoke","callId":1,"name":"x","args":[]}}',
        '{"name":"agent-server","message":{"type":"call","callId":1,"name":["x"],"args":[]}}',
        '{"name":"agent-server","message":{"type":"invokeError","callId":1,"error":"stray"}}',
        "[" * 100_000,
    ],
    ids=["binary junk", "bool id", "NaN", "number channel", "list name", "stray error", "deep"],
)
async def test_junk_is_dropped_and_the_socket_stays_open(
    agent: LocalAgent, raw: str | bytes
) -> None:
    async with wire(agent.url) as client:
        await client.send(raw)
        assert (await client.server("getUserIdentity"))["initial"] == "L"


@pytest.mark.parametrize("odd", [{"an": "object"}, ["a list"], 5, True, None])
async def test_an_odd_argument_is_answered(agent: LocalAgent, odd: Any) -> None:
    async with wire(agent.url) as client:
        for method in ("cancelCommand", "promoteCommand", "getDisplayHistory", "recordUserHide"):
            await client.ask(method, odd)
        for method in ("listConversations", "findConversations", "searchConversationContent"):
            await client.server(method, odd)
        with pytest.raises(Refused, match="Choice not found or expired"):
            await client.ask("respondToChoice", odd)
        with pytest.raises(Refused, match="Conversation not found"):
            await client.server("renameConversation", odd, "n")


async def test_an_unforeseen_fault_is_an_answer_too(
    agent: LocalAgent, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_args: object) -> None:
        raise ZeroDivisionError("by nought")

    async with wire(agent.url) as client:
        monkeypatch.setattr(agent.catalogue, "find", fail)
        with pytest.raises(Refused, match="by nought"):
            await client.server("findConversations", "x")
        monkeypatch.setattr(agent, "delete", _fail_later)
        with pytest.raises(Refused, match="later"):
            await client.server("deleteConversation", "x")
        assert await client.server("listMacros") == []
    assert caplog.text.count("a method failed") == 2


async def _fail_later(_conversation_id: object) -> None:
    raise ZeroDivisionError("later")


async def test_lone_surrogates_and_nul_come_back_as_they_were(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        text = "@test request lone \ud83d nul \x00"
        await client.run(text)
        assert client.shown() == [text.removeprefix("@test request ")]


async def test_a_megabyte_command_is_echoed_to_all(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        text = "@test request " + "x" * 1_000_000
        await client.run(text)
        assert (await client.event("setUserRequest"))[1] == text


async def test_a_frame_over_the_limit_closes_with_1009(tmp_path: Path) -> None:
    settings = Settings(max_frame_bytes=10_000)
    async with LocalAgent(tmp_path, settings).serving() as server, wire(server.url) as client:
        await client.send("x" * 10_001)
        await client.closed.wait()
        assert client.socket.close_code == 1009


async def test_an_offered_subprotocol_is_echoed(agent: LocalAgent) -> None:
    url = f"{agent.url}/any/path?x=1"
    async with connect(url, proxy=None, subprotocols=[Subprotocol("zz")]) as socket:
        assert socket.subprotocol == "zz"


def _delete(client: Wire, call_id: int) -> str:
    """A deletion waits for the running command, so it stays in flight for a while."""
    message = {
        "type": "invoke",
        "callId": call_id,
        "name": "deleteConversation",
        "args": [client.conversation_id],
    }
    return json.dumps({"name": "agent-server", "message": message})
