"""The envelope of a frame as a server meets it: tolerant in, exact out (WIRE.md 2). No I/O."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

type Json = Any

to_json = json.JSONEncoder(separators=(",", ":")).encode
"""JSON text in ASCII: a lone surrogate must come through as it is."""
MAX_SAFE_INTEGER = 2**53 - 1


class Absent(Enum):
    """What JavaScript calls `undefined`: it reads differently from `null` in some error texts."""

    UNDEFINED = auto()

    def __str__(self) -> str:
        return "undefined"

    def __bool__(self) -> bool:
        return False


UNDEFINED = Absent.UNDEFINED


class WireError(Exception):
    """Answers an invoke with an `invokeError` of this text."""


class NeverAnswered(Exception):  # noqa: N818 - an outcome the real server has, not a fault
    """Leaves an invoke without any answer, as `close`, `shutdown` and `restart` do."""


@dataclass(frozen=True, slots=True)
class Args:
    """The positional arguments of an invoke; reading past the end gives `UNDEFINED`."""

    values: list[Json]

    def __getitem__(self, index: int) -> Json:
        return self.values[index] if index < len(self.values) else UNDEFINED

    def or_none(self, index: int) -> Json:
        """The argument, or `None` both where it is absent and where it is null."""
        value = self[index]
        return None if value is UNDEFINED else value


def parse_frame(data: str | bytes) -> tuple[str, dict[str, Json]] | None:
    """The channel and the message of a frame; `None` for anything malformed (WIRE.md 2)."""
    try:
        frame = json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(frame, dict):
        return None
    channel, message = frame.get("name"), frame.get("message")
    if not isinstance(channel, str) or not isinstance(message, dict):
        return None
    return channel, message


def call_id_of(message: dict[str, Json]) -> int | None:
    """A usable `callId`: a non-negative safe integer, which a bool is not."""
    call_id = message.get("callId")
    if isinstance(call_id, bool) or not isinstance(call_id, int):
        return None
    return call_id if 0 <= call_id <= MAX_SAFE_INTEGER else None


def args_json(args: list[Json]) -> str:
    """Arguments as JSON text, made once for all who get the same call."""
    return to_json(args)


def outgoing(channel: str, kind: str, call_id: int, name: str, args: str) -> str:
    """A `call` or an `invoke` from the server, around arguments that are JSON text already."""
    return (
        f'{{"name":{json.dumps(channel)},"message":{{"type":"{kind}","callId":{call_id},'
        f'"name":"{name}","args":{args}}}}}'
    )


def result_frame(channel: str, call_id: int, result: Json) -> str:
    """An `invokeResult`; its `result` key is absent when a method returns nothing."""
    message: dict[str, Json] = {"type": "invokeResult", "callId": call_id}
    if result is not None:
        message["result"] = result
    return to_json({"name": channel, "message": message})


def _refuse(constant: str) -> Json:
    """Python reads `NaN` and `Infinity`, which are no JSON and would be echoed."""
    raise ValueError(constant)


def error_frame(channel: str, call_id: int, error: str) -> str:
    """An `invokeError` with its text."""
    message = {"type": "invokeError", "callId": call_id, "error": error}
    return to_json({"name": channel, "message": message})
