"""The request queue of one conversation: pure state, its version, its snapshots (WIRE.md 10)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from .wire import Json


class QueueFull(Exception):  # noqa: N818 - its wire name is queue_full
    """The depth limit is reached."""


@dataclass(slots=True)
class Request:
    """One submitted command and what the others may know of it (`QueuedRequest`)."""

    text: str
    originator: str
    options: dict[str, Json]
    attachments: list[Json]
    client_request_id: Json = None
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    submitted_at: int = field(default_factory=lambda: now_ms())
    started_at: int | None = None
    cancelled: bool = False
    blocked: int = 0
    """How many of its questions are open."""

    @property
    def ref(self) -> dict[str, Json]:
        """The `requestId` object of its frames."""
        ref: dict[str, Json] = {"connectionId": self.originator, "requestId": self.request_id}
        if self.client_request_id is not None:
            ref["clientRequestId"] = self.client_request_id
        return ref

    def entry(self) -> dict[str, Json]:
        """The `QueuedRequest`, without the attachments themselves."""
        entry: dict[str, Json] = {
            "requestId": self.request_id,
            "originatorConnectionId": self.originator,
            "text": self.text,
            "submittedAt": self.submitted_at,
            "state": "queued" if self.started_at is None else "running",
        }
        if self.client_request_id is not None:
            entry["clientRequestId"] = self.client_request_id
        if self.options:
            entry["options"] = self.options
        if self.started_at is not None:
            entry["startedAt"] = self.started_at
        entry["attachmentCount"] = len(self.attachments)
        if self.blocked:
            entry["blockedOn"] = "interaction"
        return entry


class RequestQueue:
    """Running and waiting requests. `on_change` is called after each mutation worth a snapshot."""

    def __init__(self, max_depth: int, on_change: Callable[[], None]) -> None:
        self.max_depth = max_depth
        self.running: Request | None = None
        self.queued: list[Request] = []
        self.version = 0
        self._on_change = on_change

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return self.running is None and not self.queued

    def snapshot(self) -> dict[str, Json]:
        """The whole queue at its present version."""
        return {
            "running": self.running.entry() if self.running else None,
            "queued": [request.entry() for request in self.queued],
            "paused": False,
            "version": self.version,
        }

    def add(self, request: Request, *, at_head: bool = False) -> None:
        """Let a request wait. Raises QueueFull."""
        if len(self.queued) + (self.running is not None) >= self.max_depth:
            raise QueueFull
        self.queued.insert(0 if at_head else len(self.queued), request)
        self._changed()

    def start_next(self) -> Request | None:
        """The next request, now running; `None` if one runs already or none waits."""
        if self.running or not self.queued:
            return None
        self.running = self.queued.pop(0)
        self.running.started_at = now_ms()
        self._changed()
        return self.running

    def finish(self) -> None:
        """The running request has ended."""
        self.running = None
        self._changed()

    def promote(self, request_id: Json) -> bool:
        """Make a waiting request the next one; false for a running or unknown one."""
        request = self._queued(request_id)
        if request is None:
            return False
        self.queued.remove(request)
        self.queued.insert(0, request)
        self._changed()
        return True

    def cancel_queued(self, request_id: Json) -> bool:
        """Take a waiting request out; false for a running or unknown one."""
        request = self._queued(request_id)
        if request is None:
            return False
        self.queued.remove(request)
        self._changed()
        return True

    def mark_cancelled(self) -> bool:
        """Note that the running request is to stop; false if known. No snapshot follows."""
        if self.running is None or self.running.cancelled:
            return False
        self.running.cancelled = True
        self.version += 1
        return True

    def mark_blocked(self, request: Request, *, blocked: bool) -> None:
        """A question of the running request has opened or closed; they are counted."""
        request.blocked += 1 if blocked else -1
        self._changed()

    def _queued(self, request_id: Json) -> Request | None:
        return next((r for r in self.queued if r.request_id == request_id), None)

    def _changed(self) -> None:
        self.version += 1
        self._on_change()


class Coalescer:
    """Sends at most one snapshot in a window, the newest. `later` calls back after the window."""

    def __init__(
        self, emit: Callable[[], None], later: Callable[[Callable[[], None]], Callable[[], None]]
    ) -> None:
        self._emit = emit
        self._later = later
        self._cancel: Callable[[], None] | None = None

    def touch(self) -> None:
        """Something has changed: a window opens unless one is open."""
        if self._cancel is None:
            self._cancel = self._later(self.flush)

    def flush(self) -> None:
        """Send what waits, now; nothing if nothing waits."""
        if self._cancel is not None:
            self.drop()
            self._emit()

    def drop(self) -> None:
        """Forget what waits."""
        if self._cancel is not None:
            self._cancel()
            self._cancel = None


def now_ms() -> int:
    """Milliseconds since the epoch, as all times on the wire."""
    return int(time.time() * 1000)
