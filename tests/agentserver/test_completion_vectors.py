"""The vectors of `completion_correlation`, through the real client and a scripted server.

A completion is an event like any other for us: whoever keeps requests finds it by its key, before
or after the answer to the submit.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chat.agentserver.client import Submitted
from chat.agentserver.errors import InvokeFailed
from chat.agentserver.events import CommandComplete, Json, RequestCancelled
from tests.agentserver.conftest import Client
from tests.agentserver.scripted import Refusal, ScriptedServer
from tests.transcript.vectors import Case, params, table

CASES = table("completion_correlation")
SKIPPED = {
    "close_drains": "no call of ours waits for a completion; the link settles requests by its rows",
}
SEQUENCES = {name: case for name, case in CASES.items() if case.get("kind") == "sequence"}
FRAMES = {name: case for name, case in CASES.items() if name.startswith("frame_")}


class Steps:
    """Does the steps of a case; the id of the request is the one that the case gives."""

    def __init__(self, client: Client, server: ScriptedServer, request_id: str) -> None:
        self.client = client
        self.server = server
        self.request_id = request_id
        self.release = asyncio.Event()
        self.submit: asyncio.Task[Submitted] | None = None
        server.answers["submitCommand"] = self.ack

    async def ack(self, *args: Json) -> Json:
        await self.release.wait()
        return {"ok": True, "entry": {"requestId": self.request_id, "state": "running"}}

    async def do(self, step: dict[str, Any]) -> None:
        match step["do"]:
            case {"submitCommand": text}:
                self.release.set()
                submitted = await self.client.submit("c1", text, self.request_id)
                assert submitted.ok is step["expect"]["ok"]
                assert submitted.entry is not None
                assert submitted.entry.request_id == step["expect"]["entry.requestId"]
            case "submitCommand is sent, server holds the answer":
                work = self.client.submit("c1", "hello", self.request_id)
                self.submit = asyncio.create_task(work)
                await self.server.wait_for("submitCommand")
            case {"commandComplete": [request_id, result]}:
                ref = {"requestId": request_id}
                await self.server.push("notify", ref, "commandComplete", {"result": result})
                await self.client.until(lambda: len(self.client.events) == 1)
                assert self.submit is None or not self.submit.done()
                self.check_completion(step["expect"])
            case {"requestCancelled": [request_id, reason]}:
                await self.server.push("requestCancelled", request_id, reason, 1)
                await self.client.until(lambda: len(self.client.events) == 1)
                self.check_completion(step["expect"])
            case "server answers ok with rid-2":
                self.release.set()
                assert self.submit is not None
                assert (await self.submit).ok
                self.check_completion(step["expect"])
            case unknown:
                pytest.fail(f"no such step: {unknown}")

    def check_completion(self, expect: Json) -> None:
        [event] = self.client.events
        if isinstance(event, RequestCancelled):
            assert event.request_id == self.request_id
            stopping = event.reason == "server_stopping"
            error = {"$error": "ServerStoppingError"}
            assert {"completion": error if stopping else {"cancelled": True}} == expect
            return
        assert isinstance(event, CommandComplete)
        assert event.ref.key == self.request_id
        assert expect in ("kept", {"completion": event.result})


@pytest.mark.parametrize("case", params(SEQUENCES, SKIPPED))
async def test_a_completion_is_found_by_its_request(
    case: Case, client: Client, server: ScriptedServer
) -> None:
    request_id = case["input"]["steps"][0]["expect"]
    request_id = "rid-2" if request_id == "waiting" else request_id["entry.requestId"]
    steps = Steps(client, server, request_id)
    for step in case["input"]["steps"]:
        await steps.do(step)


@pytest.mark.parametrize("case", params(FRAMES))
async def test_the_kind_of_frame(case: Case, client: Client, server: ScriptedServer) -> None:
    server.answers |= {"cancelCommand": {"kind": "not_found"}, "respondToInteraction": None}
    method = case["input"]["method"]
    if method == "cancelInteraction":
        client.cancel_interaction("c1", "i1")
    elif method == "cancelCommand":
        await client.cancel("c1", "r1")
    else:
        await client.respond_to_interaction("c1", "i1", 0)
    frame = await server.wait_for(method)
    assert frame.message["type"] == case["expect"]["frameType"]
    assert frame.channel == "dispatcher:c1"


async def test_cancel_command_result(client: Client, server: ScriptedServer) -> None:
    case = CASES["cancel_command_result"]
    expect = case["expect"]
    server.answers["cancelCommand"] = lambda id_: {"kind": expect["kind"], "requestId": id_}
    assert await client.cancel("c1", case["input"]["cancelCommand"]) == expect["kind"]
    assert (await server.wait_for("cancelCommand")).args == [expect["requestId"]]


async def test_respond_rejects(client: Client, server: ScriptedServer) -> None:
    case = CASES["respond_rejects"]
    given = case["input"]["respondToInteraction"]
    server.answers["respondToInteraction"] = Refusal(case["input"]["serverThrows"])
    with pytest.raises(InvokeFailed, match=case["expect"]["$error"]):
        await client.respond_to_interaction("c1", given["interactionId"], given["value"])


async def test_respond_payload(client: Client, server: ScriptedServer) -> None:
    case = CASES["respond_payload"]
    given = case["input"]["respondToInteraction"]
    server.answers["respondToInteraction"] = None
    await client.respond_to_interaction(
        "c1", given["interactionId"], given["value"], kind=given["type"]
    )
    assert (await server.wait_for("respondToInteraction")).args == [
        case["expect"]["serverReceives"]
    ]


def test_every_case_is_run_or_skipped_with_a_reason() -> None:
    alone = {"cancel_command_result", "respond_rejects", "respond_payload"}
    assert set(CASES) == {*SEQUENCES, *FRAMES, *alone}
