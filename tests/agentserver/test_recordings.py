"""Every recording of the real agent-server, replayed into the protocol core.

What is expected is read from the raw JSON of the recording, by rules of this file alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chat.agentserver import events
from chat.agentserver.decode import decode_event
from chat.agentserver.errors import AgentServerError, ConnectionLost, InvokeFailed
from chat.agentserver.events import Event, Json
from chat.agentserver.frames import BadInvoke, Call, Frame, Invoke, InvokeResult, decode_frame
from chat.agentserver.rpc import CallKey, Rpc
from tests.agentserver.conftest import MakeClient
from tests.agentserver.scripted import ScriptedServer
from tests.shared import SHARED, requires_shared, wire_files

pytestmark = requires_shared

EVENT_TYPES: dict[str, type[Event]] = {
    "setUserRequest": events.UserRequest,
    "setDisplayInfo": events.DisplayInfo,
    "setDisplay": events.SetDisplay,
    "appendDisplay": events.AppendDisplay,
    "appendDiagnosticData": events.DiagnosticData,
    "setDynamicDisplay": events.DynamicDisplay,
    "requestChoice": events.ChoiceRequested,
    "requestForm": events.ChoiceRequested,
    "requestInteraction": events.InteractionRequested,
    "interactionResolved": events.InteractionResolved,
    "interactionCancelled": events.InteractionCancelled,
    "takeAction": events.ActionTaken,
    "clear": events.ClearRequested,
    "exit": events.ExitRequested,
    "onUserFeedback": events.FeedbackChanged,
    "onUserHide": events.HideChanged,
    "requestQueued": events.RequestQueued,
    "requestStarted": events.RequestStarted,
    "requestCancelled": events.RequestCancelled,
    "queueStateChanged": events.QueueChanged,
}

RECORDINGS = [pytest.param(path, id=path.stem) for path in wire_files()]
FRAMES = {
    "junk": {
        "not json", "empty", "null", "number", "string", "array", "no name", "no message",
        "null message", "no type", "bad type", "no callId", "string callId", "negative callId",
        "float callId", "huge callId", "90MB", "106MB",
    },
    "refused": {"no method", "no args", "args object"},
}  # fmt: skip
"""What the notes of recording 13 call the malformed frames, by what a receiver does with them.

Those of many megabytes were good ones, but are cut in the recording.
"""


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


class Replay:
    """One socket of a recording, with our core in the client's place.

    The core numbers its calls itself, so the call ids of the answers are changed to ours.
    """

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.invokes: dict[tuple[str, int], Invoke] = {}
        self.invoked = 0
        self.got: list[Event] = []
        self.settled: dict[CallKey, tuple[Json, AgentServerError | None]] = {}
        self.ours: dict[tuple[str, Json], CallKey] = {}
        self.rpc = Rpc(
            send=lambda text: self.sent.append(json.loads(text)),
            on_call=self.on_call,
            on_invoke=self.on_invoke,
        )

    def on_call(self, channel: str, call: Call) -> None:
        if channel.startswith("clientio:"):
            event = decode_event(channel.removeprefix("clientio:"), call.name, call.args)
            assert event is not None, call
            self.got.append(event)

    def on_invoke(self, channel: str, invoke: Invoke) -> bool:
        self.invokes[channel, invoke.call_id] = invoke
        self.invoked += 1
        return True

    def send(self, channel: str, message: dict[str, Any]) -> None:
        """Make our core send what the recorded client sent, and compare."""
        args = tuple(message.get("args", ()))
        before = len(self.sent)
        if message["type"] == "invoke":
            if message["name"] == "registerClientAgent":
                self.rpc.reopen(f"agent:{args[0].get('name')}")
            key = self.invoke(channel, message["name"], args)
            self.ours[channel, message["callId"]] = key
        elif message["type"] == "call":
            self.rpc.call(channel, message["name"], args)
        else:
            # A stray answer is for an invoke that never was; our core refuses to send it.
            invoke = self.invokes.get((channel, message["callId"]), Invoke(message["callId"], ""))
            if message["type"] == "invokeError":
                # One was recorded without the text, which our core cannot leave out.
                message = {"error": ""} | message
            self.rpc.answer(channel, invoke, message.get("result"), as_error(message))
        for frame in self.sent[before:]:
            assert frame["name"] == channel
            assert without_call_id(frame["message"]) == without_call_id(message)

    def invoke(self, channel: str, name: str, args: tuple[Json, ...]) -> CallKey:
        def settle(result: Json, error: AgentServerError | None) -> None:
            assert key not in self.settled
            self.settled[key] = (result, error)

        key = self.rpc.invoke(channel, name, args, settle)
        return key

    def receive(self, frame: dict[str, Any]) -> None:
        channel, message = frame["name"], frame["message"]
        key = None
        if message["type"] in ("invokeResult", "invokeError"):
            # One that answers a frame which our core cannot send answers nothing.
            key = self.ours.pop((channel, message["callId"]), ("", 2**40))
            frame = {"name": channel, "message": message | {"callId": key[1]}}
        self.rpc.receive(json.dumps(frame))
        if key in self.settled:
            result, error = self.settled[key]
            assert result == message.get("result")
            assert (error.text if isinstance(error, InvokeFailed) else None) == message.get("error")

    def close(self, code: int) -> None:
        waiting = [key for key in self.ours.values() if key not in self.settled]
        self.rpc.close(ConnectionLost(code))
        assert all(isinstance(self.settled[key][1], ConnectionLost) for key in waiting)


def as_error(message: dict[str, Any]) -> InvokeFailed | None:
    if message["type"] != "invokeError":
        return None
    cancelled, markdown = message.get("cancelled", False), message.get("errorMarkdown")
    return InvokeFailed(message["error"], cancelled=cancelled, markdown=markdown)


def without_call_id(message: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in message.items() if k != "callId" and v is not None}


def replay(path: Path) -> dict[str, list[Replay]]:
    """All sockets of a recording; a new one for each time that a connection is opened."""
    sockets: dict[str, list[Replay]] = {}
    for line in lines(path):
        conn = line["conn"]
        if line.get("event") == "open":
            sockets.setdefault(conn, []).append(Replay())
        elif line.get("event") == "close":
            sockets[conn][-1].close(line["code"])
        elif "frame" in line and line["dir"] == "out":
            sockets[conn][-1].send(line["frame"]["name"], line["frame"]["message"])
        elif "frame" in line:
            sockets[conn][-1].receive(line["frame"])
        elif line["dir"] == "in":
            sockets[conn][-1].rpc.receive(line["frame_truncated"])
    return sockets


def recorded_calls(path: Path) -> dict[str, list[tuple[str, str, list[Any]]]]:
    """Conversation, name and arguments of each `clientio` call, by connection."""
    found: dict[str, list[tuple[str, str, list[Any]]]] = {}
    for line in lines(path):
        if line["dir"] != "in" or "frame" not in line:
            continue
        kind, _, conversation = line["frame"]["name"].partition(":")
        message = line["frame"]["message"]
        if kind == "clientio" and message["type"] == "call":
            call = (conversation, message["name"], message["args"])
            found.setdefault(line["conn"], []).append(call)
    return found


def expected_type(name: str, args: list[Any]) -> type[Event]:
    if name == "notify":
        return events.CommandComplete if args[1] == "commandComplete" else events.Notification
    return EVENT_TYPES[name]


def check_content(event: Any, name: str, args: list[Any]) -> None:
    """What the event says is what the frame said."""
    first = args[0]
    match name:
        case "setDisplay" | "appendDisplay":
            message = event.message
            assert message.content == first["message"]
            assert message.ref.request_id == first["requestId"]["requestId"]
            assert message.ref.client_request_id == first["requestId"].get("clientRequestId")
            assert message.source == first["source"]
            assert message.kind == first.get("kind")
            assert message.action_index == first.get("actionIndex")
            assert name == "setDisplay" or event.mode == args[1]
        case "requestQueued" | "requestStarted":
            assert event.version == args[1]
            check_entry(event.entry, first)
        case "queueStateChanged":
            assert (event.snapshot.version, event.snapshot.paused) == (first["version"], False)
            raw = [*([first["running"]] if first["running"] else []), *first["queued"]]
            for entry, raw_entry in zip(event.snapshot.entries(), raw, strict=True):
                check_entry(entry, raw_entry)
        case "requestCancelled":
            assert [event.request_id, event.reason, event.version] == args
        case "notify" if args[1] == "commandComplete":
            assert event.ref.request_id == first["requestId"]
            assert event.result == args[2]["result"]
        case "notify":
            assert [event.name, event.data, event.source] == args[1:4]
            assert event.notification_id == (first if isinstance(first, str) else None)
        case "requestInteraction":
            assert (event.interaction_id, event.raw) == (first["interactionId"], first)
            assert list(event.choices) == first["choices"]
            assert (event.ref is not None) is ("requestId" in first)
        case "requestChoice" | "requestForm":
            assert (event.ref.request_id, event.choice_id) == (first["requestId"], args[1])
            assert (event.form is None) is (name == "requestChoice")
        case "interactionResolved":
            assert [event.interaction_id, event.response] == args
        case "interactionCancelled":
            assert [event.interaction_id] == args
        case "onUserFeedback" | "onUserHide":
            assert [event.entry] == args
        case _:
            assert event.ref.request_id == first["requestId"]
            rest = [getattr(event, field) for field in OWN_FIELDS.get(name, ())]
            assert rest == args[1:]


OWN_FIELDS = {
    "setUserRequest": ("text",),
    "setDisplayInfo": ("source", "action_index", "action"),
    "appendDiagnosticData": ("data",),
    "setDynamicDisplay": ("source", "action_index", "display_id", "next_refresh_ms"),
    "takeAction": ("action", "data"),
}


def check_entry(entry: events.QueueEntry, raw: dict[str, Any]) -> None:
    assert entry.request_id == raw["requestId"]
    assert (entry.text, entry.state) == (raw["text"], raw["state"])
    assert entry.originator_connection_id == raw["originatorConnectionId"]
    assert entry.submitted_at_ms == raw["submittedAt"]
    assert entry.blocked_on == raw.get("blockedOn")


@pytest.mark.parametrize("path", RECORDINGS)
def test_a_recording_becomes_the_events_that_it_shows(path: Path) -> None:
    sockets = replay(path)
    recorded = recorded_calls(path)
    for conn, replays in sockets.items():
        got = [event for socket in replays for event in socket.got]
        calls = recorded.get(conn, [])
        counts = Counter(expected_type(name, args).__name__ for _, name, args in calls)
        assert Counter(type(event).__name__ for event in got) == counts
        for event, (conversation, name, args) in zip(got, calls, strict=True):
            assert type(event) is expected_type(name, args)
            assert event.conversation_id == conversation
            check_content(event, name, args)


@pytest.mark.parametrize("path", RECORDINGS)
def test_a_recording_answers_the_calls_that_it_shows(path: Path) -> None:
    """As many as have an answer in the recording, with its results and errors."""
    sockets = [socket for replays in replay(path).values() for socket in replays]
    asked: dict[tuple[str, str, Json], int] = Counter()
    answered = invoked = 0
    for line in lines(path):
        if "frame" not in line:
            continue
        channel, message = line["frame"]["name"], line["frame"]["message"]
        key = (line["conn"], channel, message.get("callId"))
        if message["type"] == "invoke":
            invoked += line["dir"] == "in"
            asked[key] += line["dir"] == "out"
        elif line["dir"] == "in" and message["type"] != "call" and asked[key]:
            asked[key] -= 1
            answered += 1
    settled = [pair for socket in sockets for pair in socket.settled.values()]
    assert answered == sum(not isinstance(error, ConnectionLost) for _, error in settled)
    assert invoked == sum(socket.invoked for socket in sockets)


def test_all_recordings_are_replayed() -> None:
    assert len(RECORDINGS) >= 37
    calls = [call for path in wire_files() for c in recorded_calls(path).values() for call in c]
    assert len(calls) > 3_300
    assert {name for _, name, _ in calls} == {*EVENT_TYPES, "notify"}


def malformed() -> list[Any]:
    path = SHARED / "wire" / "13-malformed.jsonl"
    found = [line for line in lines(path) if "note" in line] if path.is_file() else []
    return [pytest.param(line["note"], line["raw"], id=line["note"]) for line in found]


@pytest.mark.parametrize(("note", "raw"), malformed())
def test_a_malformed_frame_is_treated_as_the_real_server_treats_it(note: str, raw: str) -> None:
    data = raw[2:-1].encode() if note == "binary" else raw
    frame = decode_frame(data)
    if note in FRAMES["junk"]:
        assert frame is None
    elif note in FRAMES["refused"]:
        assert frame is not None
        assert isinstance(frame.message, BadInvoke)
    else:
        assert isinstance(frame, Frame)
        assert isinstance(frame.message, Invoke | Call | InvokeResult)


def cut_frames() -> list[Any]:
    found = []
    for path in wire_files():
        for number, line in enumerate(lines(path)):
            text = line.get("frame_truncated") or line.get("frame_head")
            if text:
                found.append(pytest.param(text, id=f"{path.stem}-{number}"))
    return found


@pytest.mark.parametrize("text", cut_frames())
def test_a_frame_that_was_cut_for_the_recording_is_junk(text: str) -> None:
    assert decode_frame(text) is None


@pytest.mark.parametrize("name", ["15-chat-llm", "17-displays", "19-ordering"])
async def test_a_recording_passes_through_a_real_socket(
    name: str, server: ScriptedServer, make_client: MakeClient
) -> None:
    calls = recorded_calls(SHARED / "wire" / f"{name}.jsonl")["A"]
    client = make_client()
    await client.connect()
    for conversation in dict.fromkeys(conversation for conversation, _, _ in calls):
        await client.join(conversation)
    for conversation, call, args in calls:
        await server.push(call, *args, conversation=conversation)
    await client.until(lambda: len(client.events) == len(calls))
    assert client.events == [decode_event(c, call, args) for c, call, args in calls]
