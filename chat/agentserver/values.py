"""The objects that calls and answers carry, as typed values (WIRE.md 5-7). Pure; never raises.

Missing and null mean the same everywhere (CANVAS 4). What lacks the one thing that gives it a
meaning is `None`; a wrong type elsewhere reads as absent.
"""

from __future__ import annotations

from chat.agentserver.events import (
    AgentMessage,
    InteractionRequested,
    Json,
    QueueEntry,
    QueueSnapshot,
    RequestRef,
)


def decode_ref(value: Json) -> RequestRef:
    """A `requestId`: an object, or the bare id (CANVAS 11), or nothing."""
    if isinstance(value, str):
        return RequestRef(request_id=value)
    if not isinstance(value, dict):
        return RequestRef()
    connection = value.get("connectionId")
    return RequestRef(
        request_id=text(value.get("requestId")),
        connection_id=connection if isinstance(connection, str) else None,
        client_request_id=value.get("clientRequestId"),
    )


def decode_message(value: Json) -> AgentMessage | None:
    """An `IAgentMessage`; its content is left as it came."""
    if not isinstance(value, dict):
        return None
    kind = value.get("kind")
    return AgentMessage(
        content=value.get("message"),
        ref=decode_ref(value.get("requestId")),
        source=text(value.get("source")),
        source_icon=text(value.get("sourceIcon")),
        action_index=integer(value.get("actionIndex")),
        kind=kind if isinstance(kind, str) else None,
    )


def decode_entry(value: Json) -> QueueEntry | None:
    """A `QueuedRequest` (WIRE.md 5); nothing without its id."""
    if not isinstance(value, dict) or not (request_id := text(value.get("requestId"))):
        return None
    originator, blocked = value.get("originatorConnectionId"), value.get("blockedOn")
    return QueueEntry(
        request_id=request_id,
        text=text(value.get("text")),
        state=text(value.get("state")) or "queued",
        originator_connection_id=originator if isinstance(originator, str) else None,
        client_request_id=value.get("clientRequestId"),
        submitted_at_ms=integer(value.get("submittedAt")),
        started_at_ms=integer(value.get("startedAt")),
        attachment_count=integer(value.get("attachmentCount")) or 0,
        blocked_on=blocked if isinstance(blocked, str) else None,
    )


def decode_snapshot(value: Json) -> QueueSnapshot | None:
    """A queue snapshot; `None` where there is none, as for an idle queue at a join."""
    if not isinstance(value, dict):
        return None
    queued = value.get("queued")
    entries = map(decode_entry, queued if isinstance(queued, list) else [])
    return QueueSnapshot(
        running=decode_entry(value.get("running")),
        queued=tuple(entry for entry in entries if entry is not None),
        paused=value.get("paused") is True,
        version=integer(value.get("version")),
    )


def decode_interaction(conversation_id: str, value: Json) -> InteractionRequested | None:
    """A question, from `requestInteraction` or from a join's `pendingInteractions`."""
    if not isinstance(value, dict) or not (interaction_id := text(value.get("interactionId"))):
        return None
    request = value.get("requestId")
    return InteractionRequested(
        conversation_id=conversation_id,
        interaction_id=interaction_id,
        type=text(value.get("type")),
        ref=None if request is None else decode_ref(request),
        source=text(value.get("source")),
        message=text(value.get("message")),
        choices=texts(value.get("choices")),
        default_id=integer(value.get("defaultId")),
        raw=value,
    )


def text(value: Json) -> str:
    """The value if it is a string, else the empty one."""
    return value if isinstance(value, str) else ""


def integer(value: Json) -> int | None:
    """The value if it is a whole number, however it is written."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def texts(value: Json) -> tuple[str, ...]:
    """A list of strings; whatever else stands in it is empty, so that indices keep."""
    return tuple(map(text, value)) if isinstance(value, list) else ()
