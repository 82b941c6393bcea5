"""The display log of a conversation as events: what `getDisplayHistory` gives (WIRE.md 8). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chat.agentserver.decode import decode_event
from chat.agentserver.events import (
    AppendDisplay,
    CommandComplete,
    DisplayInfo,
    Event,
    FeedbackChanged,
    HideChanged,
    InteractionCancelled,
    InteractionRequested,
    InteractionResolved,
    Json,
    SetDisplay,
    UserRequest,
)
from chat.agentserver.values import integer

UNLOGGED_KINDS = ("toast", "inline")
SYSTEM_REQUEST = "system"
"""The request id of the notices that somebody has joined or left (WIRE.md 6)."""

MAX_INTEGER = 2**53
"""Larger ones no JavaScript server can have meant, and no database takes."""

_LOGGED = (
    UserRequest,
    DisplayInfo,
    CommandComplete,
    InteractionRequested,
    InteractionResolved,
    InteractionCancelled,
    FeedbackChanged,
    HideChanged,
)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry: its position, its time (ms, the agent-server's clock) and what it says."""

    seq: int
    at_ms: int
    event: Event


def decode_log(conversation_id: str, entries: Iterable[Json]) -> list[LogEntry]:
    """The entries that we have a use for, in order; junk and unknown types are left out."""
    decoded = []
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        call = _as_call(entry)
        event = decode_event(conversation_id, *call) if call else None
        if event is not None:
            decoded.append(
                LogEntry(_int(entry.get("seq"), -1), _int(entry.get("timestamp"), 0), event)
            )
    return decoded


def newest_seq(entries: Iterable[Json]) -> int:
    """The position of the newest entry of any type; -1 for an empty log."""
    return max((_int(e.get("seq"), -1) for e in entries if isinstance(e, dict)), default=-1)


def oldest_seq(entries: Iterable[Json]) -> int:
    """The position of the first entry of any type; -1 for an empty log."""
    return next((_int(e.get("seq"), -1) for e in entries if isinstance(e, dict)), -1)


def is_logged(event: Event) -> bool:
    """Whether the agent-server also writes this live event to its log (WIRE.md 6, the table).

    The recordings show that a `setDisplay` of an unlogged kind is not logged either.
    """
    if isinstance(event, SetDisplay | AppendDisplay):
        message = event.message
        if message.kind in UNLOGGED_KINDS or message.ref.request_id == SYSTEM_REQUEST:
            return False
        return not (isinstance(event, AppendDisplay) and event.mode == "temporary")
    return isinstance(event, _LOGGED)


def _as_call(entry: dict[str, Json]) -> tuple[str, list[Json]] | None:
    """The live call that says the same as the entry."""
    ref = entry.get("requestId")
    match entry.get("type"):
        case "user-request":
            return "setUserRequest", [ref, entry.get("command")]
        case "set-display-info":
            args = [ref, entry.get("source"), entry.get("actionIndex"), entry.get("action")]
            return "setDisplayInfo", args
        case "set-display":
            return "setDisplay", [entry.get("message")]
        case "append-display":
            return "appendDisplay", [entry.get("message"), entry.get("mode")]
        case "command-result":
            return "notify", [ref, "commandComplete", {"result": entry}, "system"]
        case "pending-interaction":
            return "requestInteraction", [{**entry, "type": entry.get("interactionType")}]
        case "interaction-resolved":
            return "interactionResolved", [entry.get("interactionId"), entry.get("response")]
        case "interaction-cancelled":
            return "interactionCancelled", [entry.get("interactionId")]
        case _:
            return None


def _int(value: Json, default: int) -> int:
    number = integer(value)
    return number if number is not None and abs(number) <= MAX_INTEGER else default
