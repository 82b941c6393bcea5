"""Client-hosted agents beyond the recordings: choices, lost sockets, broken schemas (WIRE.md 9)."""

from __future__ import annotations

from typing import Any

import pytest

from chat.localagent import LocalAgent
from chat.localagent.schema import parse_schema
from chat.localagent.wire import WireError

from .client import Refused, Wire, wire

SOURCE = """
// Everything the phone can do.
export type PhoneAction = RingAction | TextAction;

// Rings the phone.
// Use it when it is lost.
export type RingAction = {
    actionName: "ring";
};

export interface TextAction {
    actionName: "text";
    parameters: {
        // Who gets it: a name.
        to: string;
        body: string; /* not: parsed */
        options?: { urgent: boolean };
        where: { lat: number; lon: number };
    };
}
"""
MANIFEST = {
    "emojiChar": "📞",
    "description": "A phone.",
    "schema": {
        "description": "A phone.",
        "schemaType": "PhoneAction",
        "schemaFile": {"format": "ts", "content": SOURCE},
    },
}
RING = "@action phone ring"


def test_a_schema_gives_its_actions_and_what_they_need() -> None:
    actions = parse_schema("phone", MANIFEST["schema"]).actions
    assert set(actions) == {"ring", "text"}
    assert actions["ring"].description == "Rings the phone. Use it when it is lost."
    assert not actions["ring"].takes_parameters
    assert actions["text"].required == ("to", "body", "where")


@pytest.mark.parametrize(
    ("parameters", "missing"),
    [(None, "to"), ({"to": "x"}, "body"), ({"to": 1, "body": 2}, "where")],
)
def test_a_missing_parameter_is_named(parameters: object, missing: str) -> None:
    action = parse_schema("phone", MANIFEST["schema"]).actions["text"]
    with pytest.raises(WireError, match=f"'parameters.{missing}'"):
        action.check(parameters)


def test_an_unfinished_schema_is_read_as_far_as_it_goes() -> None:
    schema = {"schemaType": "A", "schemaFile": {"content": 'type A = { actionName: "a"; p: {'}}
    assert set(parse_schema("x", schema).actions) == {"a"}


async def test_an_agents_choice_is_answered_through_it(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await _register(client, ["executeAction", "handleChoice"])
        choice: dict[str, Any] = {"choiceId": "mine", "type": "pickRemember", "message": "Which?"}
        choice |= {"choices": ["a"], "checkboxLabel": "always"}
        await _act(client, {"entities": [], "displayContent": "?", "pendingChoice": choice})
        ref, *asked = await client.event("requestChoice")
        assert asked == ["mine", "pickRemember", "Which?", ["a"], "phone", "always"]
        channel = f"dispatcher:{client.conversation_id}"
        answering = await client.begin(channel, "respondToChoice", "mine", {"selected": 0})
        handed = await _asked(client, "handleChoice")
        assert handed["args"][0]["response"] == {"selected": 0}
        await _answer(client, handed["callId"], {"entities": [], "displayContent": "a it is"})
        await client.answer(channel, answering)
        assert client.shown()[-1] == "a it is"
        assert ref["clientRequestId"] == "c"


async def test_an_agents_form_is_a_form_request(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await _register(client)
        field = {"id": "f", "kind": "yesNo", "prompt": "?"}
        form = {"choiceId": "f1", "type": "form", "message": "Fill in", "fields": [field]}
        await _act(client, {"entities": [], "pendingChoice": form})
        _ref, *asked = await client.event("requestForm")
        assert asked == ["f1", {"fields": [field], "message": "Fill in"}, "phone"]


async def test_a_lost_socket_fails_the_action_and_frees_the_name(agent: LocalAgent) -> None:
    async with wire(agent.url) as owner, wire(agent.url) as peer:
        await _register(owner)
        await peer.submit(RING)
        await _asked(owner, "executeAction")
        await owner.drop()
        assert (await peer.complete())["lastError"] == "Agent channel disconnected"
        await _register(peer)


async def test_status_and_schemas_know_a_registered_agent(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await _register(client)
        status = await client.ask("getStatus")
        assert {"emoji": "📞", "name": "phone"}.items() <= status["agents"][-1].items()
        (described,) = await client.ask("getAgentSchemas")
        names = [action["name"] for action in described["subSchemas"][0]["actions"]]
        assert names == ["ring", "text"]
        assert await client.ask("getAgentSchemas", "other") == []


async def test_an_agent_keeps_files_while_it_is_registered(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await _register(client)
        base = {"contextId": 0, "session": True}
        file = {**base, "storagePath": "dir/a.txt"}
        channel = "agent:phone"
        call = await client.begin(channel, "storageWrite", {**file, "data": "hi"})
        assert await client.answer(channel, call) is None
        call = await client.begin(channel, "storageList", {**base, "storagePath": "dir"})
        assert await client.answer(channel, call) == ["dir/a.txt"]
        call = await client.begin(channel, "storageRead", file)
        assert await client.answer(channel, call) == "hi"
        call = await client.begin(channel, "storageRead", {**file, "session": False})
        with pytest.raises(Refused, match="ENOENT"):
            await client.answer(channel, call)


async def test_nothing_can_be_registered_without_joining(agent: LocalAgent) -> None:
    async with wire(agent.url, join=False) as client:
        with pytest.raises(Refused, match="Not joined to conversation: undefined"):
            await client.server("registerClientAgent", None)


async def test_a_call_for_an_ended_action_is_dropped(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await _register(client)
        for args in ([{"actionContextId": 9, "content": "late"}], ["junk"], []):
            for name in ("setDisplay", "appendDisplay", "takeAction"):
                message = {"type": "call", "callId": 0, "name": name, "args": args}
                await client.send({"name": "agent:phone", "message": message})
        await client.server("listMacros")
        assert client.shown() == []


async def _register(client: Wire, interface: list[str] | None = None) -> None:
    agent = {
        "name": "phone",
        "manifest": MANIFEST,
        "agentInterface": interface or ["executeAction"],
    }
    await client.server("registerClientAgent", agent)


async def _act(client: Wire, result: Any) -> Any:
    """Run the action and answer it; gives the command's result."""
    await client.submit(RING)
    asked = await _asked(client, "executeAction")
    await _answer(client, asked["callId"], result)
    return await client.complete()


async def _asked(client: Wire, method: str) -> dict[str, Any]:
    def wanted(frame: dict[str, Any]) -> bool:
        message = frame["message"]
        return bool(message["type"] == "invoke" and message["name"] == method)

    message: dict[str, Any] = (await client.until(wanted))["message"]
    return message


async def _answer(client: Wire, call_id: int, result: Any) -> None:
    message = {"type": "invokeResult", "callId": call_id, "result": result}
    await client.send({"name": "agent:phone", "message": message})
