"""What users think of an answer, and what they hide: entries of the log (WIRE.md 5, 6)."""

from __future__ import annotations

from .audience import Audience, Scope
from .displaylog import DisplayLog
from .wire import UNDEFINED, Args, Json


class Feedback:
    """Feedback and hidden messages of one conversation; nothing is validated (WIRE.md 5)."""

    def __init__(self, audience: Audience, log: DisplayLog) -> None:
        self._audience = audience
        self._log = log

    def rate(self, args: Args) -> None:
        """`recordUserFeedback(requestId, rating, category?, comment?, includeContext?)`."""
        names = ("requestId", "rating", "category", "comment")
        fields = {n: args[i] for i, n in enumerate(names) if args[i] is not UNDEFINED}
        self._record("user-feedback", "onUserFeedback", fields)

    def hide(self, args: Args) -> None:
        """`recordUserHide(requestId, hidden, target?, permanent?)`."""
        names = ("requestId", "hidden", "target", "permanent")
        fields = {n: args[i] for i, n in enumerate(names) if args[i] is not UNDEFINED}
        self._record("user-message-hidden", "onUserHide", fields)

    def restore_all(self) -> int:
        """`restoreAllHidden`: show again what is hidden; gives how many."""
        hidden = self._hidden()
        for fields in hidden:
            self._record("user-message-hidden", "onUserHide", {**fields, "hidden": False})
        return len(hidden)

    def flush(self) -> int:
        """`flushHidden`: hide for good what is hidden; gives how many."""
        hidden = self._hidden()
        for fields in hidden:
            self._record("user-message-hidden", "onUserHide", {**fields, "permanent": True})
        return len(hidden)

    def _hidden(self) -> list[dict[str, Json]]:
        latest: dict[str, dict[str, Json]] = {}
        for entry in self._log.entries:
            if entry["type"] == "user-message-hidden":
                kept = {k: entry[k] for k in ("requestId", "hidden", "target") if k in entry}
                latest[f"{entry.get('requestId')}/{entry.get('target')}"] = kept | (
                    {"permanent": True} if entry.get("permanent") else {}
                )
        return [e for e in latest.values() if e.get("hidden") and "permanent" not in e]

    def _record(self, kind: str, call: str, fields: dict[str, Json]) -> None:
        entry = self._log.add(kind, fields)
        self._audience.send(call, [entry], Scope.EVERYONE)
