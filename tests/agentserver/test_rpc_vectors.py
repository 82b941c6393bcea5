"""The vectors of the area `rpc`, driven through the real client and a scripted server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chat.agentserver.errors import AgentServerError, ConnectionLost, InvokeFailed
from chat.agentserver.events import Json
from tests.agentserver.conftest import Client, MakeClient
from tests.agentserver.scripted import SILENCE, ScriptedServer
from tests.transcript.vectors import Case, params, table

SKIPPED = {
    "rebind_not_allowed": "a connection of ours can always be made again; there is no such option",
}

CHANNEL = "test"


class Steps:
    """Does the steps of a case, one after the other, and checks what each expects."""

    def __init__(self, client: Client, server: ScriptedServer) -> None:
        self.client = client
        self.server = server
        self.waiting: asyncio.Task[Json] | None = None
        self.started: list[Json] = []
        server.answers |= {"double": lambda x: x * 2, "echo": lambda x: x}

    async def do(self, step: dict[str, Any]) -> None:
        expect = step["expect"]
        match step["do"]:
            case {"invoke": call}:
                await self.invoke(call, expect)
            case {"call": call}:
                await self.call(call, expect)
            case "channel disconnects":
                self.server.drop()
                await self.client.until_closed()
                await self.fails_waiting(expect)
            case "rebind to a new channel":
                await self.client.connect()
                await self.fails_waiting(expect)
            case "old channel disconnects":
                self.server.connections[0].transport.abort()
                assert self.client.closes == []
            case "rebind three times, invoke after each":
                assert [await self.rebound(n) for n in range(3)] == expect
            case {"frame": message}:
                await self.frame(message, expect)
            case {"handlerThrows": error}:
                await self.handler_throws(error, expect["error"])
            case unknown:
                pytest.fail(f"no such step: {unknown}")

    async def invoke(self, call: list[Json], expect: Json) -> None:
        name, *args = call
        if expect == "waiting":
            self.server.answers[name] = SILENCE
            self.waiting = asyncio.create_task(self.client.invoke(CHANNEL, name, *args))
            await self.server.wait_for(name)
            self.server.answers["echo"] = lambda x: x
        elif isinstance(expect, dict) and "$error" in expect:
            with pytest.raises(AgentServerError, match=expect["$error"]):
                await self.client.invoke(CHANNEL, name, *args)
        elif isinstance(expect, dict):
            await self.client.invoke(CHANNEL, name, *args)
            assert (await self.server.wait_for(name)).message["callId"] == expect["callId"]
        else:
            assert await self.client.invoke(CHANNEL, name, *args) == expect

    async def call(self, call: list[Json], expect: Json) -> None:
        name, *args = call
        if isinstance(expect, dict) and "$error" in expect:
            with pytest.raises(ConnectionLost, match=expect["$error"]):
                self.client.call(CHANNEL, name, *args)
            return
        if isinstance(expect, dict):
            await self.is_called(name, args, expect)
            return
        self.client.call(CHANNEL, name, *args)
        received = await self.server.wait_for(name)
        assert (received.message["type"], received.args) == ("call", args)

    async def is_called(self, name: str, args: list[Json], expect: dict[str, Json]) -> None:
        async def handler(*got: Json) -> Json:
            self.started.extend(got)
            return "an answer that nobody asked for"

        self.client.handle(CHANNEL, name, handler)
        message = {"type": "call", "callId": 0, "name": name, "args": args}
        await self.server.send({"name": CHANNEL, "message": message})
        await self.pass_by()
        frames_back = len(self.server.received) - 1
        assert {"received": self.started, "framesBack": frames_back} == expect

    async def pass_by(self) -> None:
        """Wait until the client has answered something, so that it has seen all before that."""
        await self.server.invoke(CHANNEL, "zz", call_id=900)
        await self.server.wait_for_answer(900)

    async def fails_waiting(self, expect: Json) -> None:
        if expect is None:
            return
        assert self.waiting is not None
        with pytest.raises(ConnectionLost, match=expect["$error"]):
            await self.waiting

    async def rebound(self, number: int) -> Json:
        self.server.answers["add"] = lambda x: x + number
        await self.client.connect()
        return await self.client.invoke(CHANNEL, "add", 10)

    async def frame(self, message: dict[str, Json], expect: Json) -> None:
        async def echo(value: Json) -> Json:
            self.started.append(value)
            return await asyncio.Event().wait()

        self.client.handle(CHANNEL, "echo", echo)
        await self.server.send({"name": CHANNEL, "message": message})
        if isinstance(expect, dict):
            [answer] = expect["sent"]
            assert await self.server.wait_for_answer(answer["callId"]) == answer
            return
        await self.pass_by()
        assert self.started == [1]

    async def handler_throws(self, error: dict[str, Any], expect: dict[str, Any]) -> None:
        async def handler() -> Json:
            cause = error.get("cause")
            is_abort = (cause or error).get("name") == "AbortError"
            failure = InvokeFailed(
                error["message"], cancelled=is_abort, markdown=error.get("markdown")
            )
            if cause:
                raise RuntimeError(error["message"]) from failure
            raise failure

        self.client.handle(CHANNEL, "fail", handler)
        await self.server.invoke(CHANNEL, "fail")
        answer = await self.server.wait_for_answer()
        if "message" in expect:
            assert answer["error"] == expect["message"]
            assert answer.get("errorMarkdown") == expect["markdown"]
        assert answer.get("cancelled", False) is (expect.get("name") == "AbortError")


@pytest.mark.parametrize("case", params(table("rpc"), SKIPPED))
async def test_rpc(case: Case, server: ScriptedServer, make_client: MakeClient) -> None:
    client = make_client()
    await client.connect()
    steps = Steps(client, server)
    for step in case["input"]["steps"]:
        await steps.do(step)
