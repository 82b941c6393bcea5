"""The envelope: what is a frame, what is junk, and what comes back out unharmed."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.agentserver.events import Json
from chat.agentserver.frames import (
    MAX_CALL_ID,
    NO_REASON,
    BadInvoke,
    Call,
    Frame,
    Invoke,
    InvokeError,
    InvokeResult,
    Message,
    decode_frame,
    encode_frame,
)


def decode(message: Json, channel: Json = "agent-server") -> Frame | None:
    return decode_frame(json.dumps({"name": channel, "message": message}))


@pytest.mark.parametrize(
    "data",
    [
        "",
        "{nope",
        "null",
        "5",
        '"hi"',
        "[]",
        "NaN",
        "9" * 5000,
        "[" * 100_000,
        '{"message":{"type":"call","callId":1,"name":"x","args":[]}}',
        '{"name":5,"message":{"type":"call","callId":1,"name":"x","args":[]}}',
        '{"name":"agent-server"}',
        '{"name":"agent-server","message":null}',
        '{"name":"agent-server","message":[]}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_frame_is_junk(data: str | bytes) -> None:
    assert decode_frame(data) is None


@pytest.mark.parametrize("kind", ["invoke", "invokeResult", "invokeError"])
@pytest.mark.parametrize("call_id", [None, "79", -1, 1.5, 2**53, True])
def test_what_needs_a_call_id_is_junk_without_a_usable_one(kind: str, call_id: Json) -> None:
    message = {"type": kind, "callId": call_id, "name": "x", "args": [], "error": "e"}
    assert decode(message) is None


@pytest.mark.parametrize("kind", [None, "zz", 5])
def test_an_unknown_type_is_junk(kind: Json) -> None:
    assert decode({"type": kind, "callId": 1, "name": "x", "args": []}) is None


@pytest.mark.parametrize("rest", [{"args": []}, {"name": None, "args": [1]}, {"name": "x"}])
def test_an_invoke_that_cannot_be_understood_can_still_be_answered(rest: dict[str, Json]) -> None:
    assert decode({"type": "invoke", "callId": 8001} | rest) == Frame(
        "agent-server", BadInvoke(8001)
    )


@pytest.mark.parametrize("rest", [{"args": []}, {"name": "x", "args": {}}])
def test_a_call_without_name_or_arguments_is_junk(rest: dict[str, Json]) -> None:
    assert decode({"type": "call", "callId": 1} | rest) is None


def test_a_call_needs_no_call_id() -> None:
    assert decode({"type": "call", "name": "x", "args": [1]}) == Frame(
        "agent-server", Call("x", (1,))
    )


def test_an_absent_result_and_a_null_one_are_the_same() -> None:
    absent = decode({"type": "invokeResult", "callId": 3})
    assert absent == decode({"type": "invokeResult", "callId": 3, "result": None})
    assert absent == Frame("agent-server", InvokeResult(3))
    assert '"result"' not in encode_frame("c", InvokeResult(3))


def test_an_error_may_have_markdown_and_be_an_abort() -> None:
    message = {
        "type": "invokeError",
        "callId": 0,
        "error": "e",
        "cancelled": True,
        "errorMarkdown": "**e**",
        "stack": "at /srv",
    }
    assert decode(message) == Frame("agent-server", InvokeError(0, "e", True, "**e**"))


def test_an_error_without_a_text_is_still_an_error() -> None:
    """Dropped, it would leave its caller waiting (WIRE.md 2)."""
    frame = decode({"type": "invokeError", "callId": 0, "error": {"code": 5}})
    assert frame == Frame("agent-server", InvokeError(0, NO_REASON))


def test_extra_fields_are_ignored() -> None:
    message = {"type": "invoke", "callId": 1, "name": "n", "args": [], "metadata": {"version": 1}}
    assert decode_frame(json.dumps({"name": "c", "x": 1, "message": message})) == Frame(
        "c", Invoke(1, "n")
    )


def test_invalid_utf_8_costs_the_character_and_not_the_frame() -> None:
    data = b'{"name":"c","message":{"type":"call","callId":0,"name":"n","args":["a\xffb"]}}'
    assert decode_frame(data) == Frame("c", Call("n", ("a\ufffdb",)))


def test_lone_surrogates_survive() -> None:
    message = Call("n", ("\ud83d",))
    text = encode_frame("c", message)
    assert text.isascii()
    assert decode_frame(text) == Frame("c", message)


def test_what_is_no_json_is_not_sent() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode_frame("c", Call("n", (float("nan"),)))
    with pytest.raises(TypeError):
        encode_frame("c", Call("n", (object(),)))


unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For a machine that is busy with other things: slowness is not what is tested."""

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
call_ids = st.integers(0, MAX_CALL_ID)
arguments = st.lists(values, max_size=3).map(tuple)
messages = (
    st.builds(Invoke, call_ids, st.text(), arguments)
    | st.builds(InvokeResult, call_ids, values)
    | st.builds(InvokeError, call_ids, st.text(), st.booleans(), st.none() | st.text())
    | st.builds(Call, st.text(), arguments, call_ids)
)


@unhurried
@given(st.text(), messages)
def test_every_message_comes_back_as_it_was(channel: str, message: Message) -> None:
    assert decode_frame(encode_frame(channel, message)) == Frame(channel, message)


@unhurried
@given(values)
def test_no_json_makes_decoding_fail(value: Json) -> None:
    for raw in (value, {"name": "c", "message": value}):
        frame = decode_frame(json.dumps(raw))
        assert frame is None or frame.channel == "c"
