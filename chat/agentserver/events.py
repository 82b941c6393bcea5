"""What the agent-server tells a client, as typed values. No I/O, nothing of ours imported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

type Json = Any
"""Whatever `json.loads` gives: the wire promises little more."""


@dataclass(frozen=True, slots=True)
class RequestRef:
    """The `requestId` object of nearly every frame (WIRE.md 6, CANVAS 8)."""

    request_id: str = ""
    connection_id: str | None = None
    client_request_id: Json = None

    @property
    def key(self) -> str | None:
        """What the output belongs to: the server's id, else an agent's own id, else nothing."""
        if self.request_id:
            return self.request_id
        client = self.client_request_id
        return client if isinstance(client, str) and client.startswith("agent-") else None


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """`IAgentMessage`: a piece of content and where it came from (WIRE.md 6)."""

    content: Json
    ref: RequestRef
    source: str = ""
    source_icon: str = ""
    action_index: int | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A request in the agent-server's queue (WIRE.md 5, `QueuedRequest`). Times in ms."""

    request_id: str
    text: str = ""
    state: str = "queued"
    originator_connection_id: str | None = None
    client_request_id: Json = None
    submitted_at_ms: int | None = None
    started_at_ms: int | None = None
    attachment_count: int = 0
    blocked_on: str | None = None


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """The whole queue at one version (WIRE.md 5)."""

    running: QueueEntry | None = None
    queued: tuple[QueueEntry, ...] = ()
    paused: bool = False
    version: int | None = None

    def entries(self) -> tuple[QueueEntry, ...]:
        """Running first, then queued, in order."""
        return ((self.running,) if self.running else ()) + self.queued


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened in one conversation, in the order in which it was sent."""

    conversation_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRequest(Event):
    """`setUserRequest`: a request has started."""

    ref: RequestRef
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayInfo(Event):
    """`setDisplayInfo`: who answers, and with which action."""

    ref: RequestRef
    source: str
    action_index: int | None = None
    action: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDisplay(Event):
    """`setDisplay`: replaces what the request has shown."""

    message: AgentMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendDisplay(Event):
    """`appendDisplay` with its mode as sent; see `chat.transcript.thread` for its meaning."""

    message: AgentMessage
    mode: str = "block"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticData(Event):
    ref: RequestRef
    data: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicDisplay(Event):
    ref: RequestRef
    source: str
    action_index: int | None
    display_id: str
    next_refresh_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandComplete(Event):
    """`notify(..., "commandComplete", {result})`. `result` may be `None`."""

    ref: RequestRef
    result: dict[str, Json] | None = None

    @property
    def last_error(self) -> str | None:
        value = (self.result or {}).get("lastError")
        return None if value is None else str(value)

    @property
    def cancelled(self) -> bool:
        return bool((self.result or {}).get("cancelled"))

    @property
    def failed(self) -> bool:
        """There is no success flag; failure is told like this (WIRE.md 6, End of a request)."""
        disposition = (self.result or {}).get("disposition")
        status = disposition.get("status") if isinstance(disposition, dict) else None
        return self.last_error is not None or status in ("failed", "notHandled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification(Event):
    """Any other `notify`. `notification_id` is what came first: a text, a ref or nothing."""

    name: str
    data: Json = None
    source: str = ""
    ref: RequestRef | None = None
    notification_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRequested(Event):
    """`requestChoice` (`form` is `None`) or `requestForm` (`form` is set) (WIRE.md 7 A)."""

    ref: RequestRef
    choice_id: str
    type: str = "form"
    message: str = ""
    choices: tuple[str, ...] = ()
    source: str = ""
    checkbox_label: str | None = None
    form: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionRequested(Event):
    """`requestInteraction`, or an element of a join's `pendingInteractions` (WIRE.md 7 B)."""

    interaction_id: str
    type: str
    ref: RequestRef | None = None
    source: str = ""
    message: str = ""
    choices: tuple[str, ...] = ()
    default_id: int | None = None
    raw: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionResolved(Event):
    interaction_id: str
    response: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionCancelled(Event):
    interaction_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTaken(Event):
    """`takeAction`: something the client is asked to do (WIRE.md 6, CANVAS 154)."""

    ref: RequestRef
    action: str
    data: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearRequested(Event):
    """`clear`: from `@clear`, to its originator only."""

    ref: RequestRef


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitRequested(Event):
    ref: RequestRef


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackChanged(Event):
    entry: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class HideChanged(Event):
    entry: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestQueued(Event):
    entry: QueueEntry
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStarted(Event):
    entry: QueueEntry
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCancelled(Event):
    request_id: str
    reason: str = "user"
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChanged(Event):
    snapshot: QueueSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEvent(Event):
    """A call we have no name for: logged, never an error (CANVAS 2)."""

    name: str
    args: tuple[Json, ...] = ()
