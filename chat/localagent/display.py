"""The `clientio` calls of a conversation: sent to its audience, and logged (WIRE.md 6)."""

from __future__ import annotations

from .audience import Audience, Scope
from .displaylog import DisplayLog
from .wire import Json

UNLOGGED_KINDS = ("toast", "inline")
RESULT_FIELDS = ("metrics", "tokenUsage", "actionTokenUsage")
"""What of a command's result is kept in the log: neither its error nor `cancelled`."""


class Display:
    """Shows things to all who are joined; `ref` is the `requestId` object of a request."""

    def __init__(self, audience: Audience, log: DisplayLog) -> None:
        self.audience = audience
        self.log = log

    def user_request(self, ref: dict[str, Json], text: str) -> None:
        """`setUserRequest`."""
        self.log.add("user-request", {"requestId": ref, "command": text})
        self.audience.send("setUserRequest", [ref, text], _owner(ref))

    def info(
        self, ref: dict[str, Json], source: str, index: int | None = None, action: Json = None
    ) -> None:
        """`setDisplayInfo`."""
        fields = {"requestId": ref, "source": source, "actionIndex": index, "action": action}
        self.log.add("set-display-info", {k: v for k, v in fields.items() if v is not None})
        self.audience.send("setDisplayInfo", [ref, source, index, action], _owner(ref))

    def set(self, message: dict[str, Json]) -> None:
        """`setDisplay`."""
        if message.get("kind") not in UNLOGGED_KINDS:
            self.log.add("set-display", {"message": message})
        self.audience.send("setDisplay", [message], _owner(message["requestId"]))

    def append(self, message: dict[str, Json], mode: str) -> None:
        """`appendDisplay`."""
        if mode != "temporary" and message.get("kind") not in UNLOGGED_KINDS:
            self.log.add("append-display", {"message": message, "mode": mode})
        self.audience.send("appendDisplay", [message, mode], _owner(message["requestId"]))

    def diagnostic(self, ref: dict[str, Json], data: Json) -> None:
        """`appendDiagnosticData`."""
        self.audience.send("appendDiagnosticData", [ref, data], _owner(ref))

    def notify(self, about: Json, event: str, data: Json, source: str) -> None:
        """`notify`: about a request, a notification's own id, or nothing."""
        to = _owner(about) if isinstance(about, dict) else None
        self.audience.send("notify", [about, event, data, source, None, None], to)

    def complete(self, ref: dict[str, Json], result: dict[str, Json]) -> None:
        """`commandComplete`: the end of a request."""
        kept = {key: result[key] for key in RESULT_FIELDS if key in result}
        self.log.add("command-result", {"requestId": ref, **kept})
        self.notify(ref, "commandComplete", {"result": result}, "system")

    def system(self, text: str) -> None:
        """A notice of the server itself to all, never logged."""
        message = {
            "message": {"type": "text", "content": text, "kind": "status"},
            "requestId": {"requestId": "system"},
            "source": "system",
        }
        self.audience.send("appendDisplay", [message, "block"], Scope.EVERYONE)


def _owner(ref: Json) -> str | None:
    owner = ref.get("connectionId") if isinstance(ref, dict) else None
    return owner if isinstance(owner, str) else None
