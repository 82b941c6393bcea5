"""The frame envelope (WIRE.md 2): text to typed messages and back. Pure, and never surprised."""

from __future__ import annotations

import json
from dataclasses import dataclass

from chat.agentserver.events import Json

MAX_CALL_ID = 2**53 - 1
"""The largest integer that JavaScript keeps exact."""

NO_REASON = "The agent-server gave no reason."


@dataclass(frozen=True, slots=True)
class Invoke:
    """A call that wants an answer with the same `call_id`."""

    call_id: int
    name: str
    args: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class BadInvoke:
    """An invoke that can be answered but not understood: no name, or no list of arguments."""

    call_id: int


@dataclass(frozen=True, slots=True)
class InvokeResult:
    """An answer. `None` is sent, and read, as an absent `result`."""

    call_id: int
    result: Json = None


@dataclass(frozen=True, slots=True)
class InvokeError:
    """A failure as an answer; see `errors.InvokeFailed` for the fields."""

    call_id: int
    error: str
    cancelled: bool = False
    markdown: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A one-way call; nobody answers it."""

    name: str
    args: tuple[Json, ...] = ()
    call_id: int = 0


type Message = Invoke | InvokeResult | InvokeError | Call
"""What may be sent."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message on one channel."""

    channel: str
    message: Message | BadInvoke


def decode_frame(data: str | bytes) -> Frame | None:
    """The frame in a WebSocket message, or `None` for junk, which is to be dropped (WIRE.md 2).

    Bytes that are no UTF-8 become U+FFFD: one bad character must not cost the connection.
    """
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        raw = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict):
        return None
    channel, body = raw.get("name"), raw.get("message")
    if not isinstance(channel, str) or not isinstance(body, dict):
        return None
    message = _decode_message(body)
    return None if message is None else Frame(channel, message)


def encode_frame(channel: str, message: Message) -> str:
    """The frame as ASCII JSON, so that lone surrogates survive as their escapes.

    Raises `TypeError` or `ValueError` for what is no JSON, such as NaN.
    """
    body = _encode_message(message)
    return json.dumps({"name": channel, "message": body}, separators=(",", ":"), allow_nan=False)


def _decode_message(body: dict[str, Json]) -> Message | BadInvoke | None:
    kind = body.get("type")
    if kind == "call":
        return _decode_call(body)
    call_id = _call_id(body.get("callId"))
    if call_id is None:
        return None
    if kind == "invoke":
        name, args = body.get("name"), body.get("args")
        if not isinstance(name, str) or not isinstance(args, list):
            return BadInvoke(call_id)
        return Invoke(call_id, name, tuple(args))
    if kind == "invokeResult":
        return InvokeResult(call_id, body.get("result"))
    if kind == "invokeError":
        error, markdown = body.get("error"), body.get("errorMarkdown")
        return InvokeError(
            call_id,
            error if isinstance(error, str) else NO_REASON,
            body.get("cancelled") is True,
            markdown if isinstance(markdown, str) else None,
        )
    return None


def _decode_call(body: dict[str, Json]) -> Call | None:
    name, args = body.get("name"), body.get("args")
    if not isinstance(name, str) or not isinstance(args, list):
        return None
    return Call(name, tuple(args), _call_id(body.get("callId")) or 0)


def _encode_message(message: Message) -> dict[str, Json]:
    body: dict[str, Json] = {"callId": message.call_id}
    match message:
        case Invoke():
            body |= {"type": "invoke", "name": message.name, "args": list(message.args)}
        case InvokeResult():
            body |= {"type": "invokeResult"}
            if message.result is not None:
                body["result"] = message.result
        case InvokeError():
            body |= {"type": "invokeError", "error": message.error}
            if message.cancelled:
                body["cancelled"] = True
            if message.markdown is not None:
                body["errorMarkdown"] = message.markdown
        case Call():
            body |= {"type": "call", "name": message.name, "args": list(message.args)}
    return body


def _call_id(value: Json) -> int | None:
    # A bool is an int to Python, but not to the other side.
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_CALL_ID:
        return value
    return None


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON")
