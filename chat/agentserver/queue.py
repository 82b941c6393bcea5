"""The agent-server's queue as a client knows it, and how to empty it. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from chat.agentserver.errors import AgentServerError
from chat.agentserver.events import (
    CommandComplete,
    Event,
    QueueChanged,
    QueueEntry,
    QueueSnapshot,
    RequestCancelled,
    RequestQueued,
    RequestStarted,
)


class QueueMirror:
    """Running and waiting requests, kept by the four queue events (CANVAS 86-88).

    `snapshot` is `None` as long as nothing is known, which means an idle queue.
    """

    def __init__(self) -> None:
        self.snapshot: QueueSnapshot | None = None

    def reset(self, snapshot: QueueSnapshot | None) -> None:
        """Begin anew with what a join told; nothing is compared, `None` is an idle queue."""
        self.snapshot = snapshot

    @property
    def running(self) -> QueueEntry | None:
        return self.snapshot.running if self.snapshot else None

    @property
    def queued(self) -> tuple[QueueEntry, ...]:
        return self.snapshot.queued if self.snapshot else ()

    def apply(self, event: Event) -> bool:
        """Take an event of any kind; whether it was one that counted.

        Only a version lower than the last one is stale: an equal one is the other half of a
        pair, a missing one is admitted, and gaps are normal.
        """
        match event:
            case QueueChanged():
                return self._put(event.snapshot, event.snapshot.version)
            case RequestQueued():
                rest = self._without(event.entry.request_id)
                queued = (*rest.queued, event.entry)
                return self._put(replace(rest, queued=queued), event.version)
            case RequestStarted():
                rest = self._without(event.entry.request_id)
                return self._put(replace(rest, running=event.entry), event.version)
            case RequestCancelled():
                return self._put(self._without(event.request_id), event.version)
            case CommandComplete():
                # The snapshot that says so follows up to 100 ms later (WIRE.md 10).
                known = self.running is not None and self.running.request_id == event.ref.request_id
                return known and self._put(self._without(event.ref.request_id), None)
        return False

    def _without(self, request_id: str) -> QueueSnapshot:
        now = self.snapshot or QueueSnapshot()
        running = now.running
        return replace(
            now,
            running=None if running and running.request_id == request_id else running,
            queued=tuple(entry for entry in now.queued if entry.request_id != request_id),
        )

    def _put(self, snapshot: QueueSnapshot, version: int | None) -> bool:
        last = self.snapshot.version if self.snapshot else None
        if version is not None and last is not None and version < last:
            return False
        self.snapshot = replace(snapshot, version=last if version is None else version)
        return True


@dataclass(frozen=True, slots=True)
class CancelledAll:
    """How many requests `cancel_all` got rid of."""

    running: int = 0
    queued: int = 0

    @property
    def total(self) -> int:
        return self.running + self.queued


async def cancel_all(
    snapshot: QueueSnapshot | None, cancel: Callable[[str], Awaitable[object]]
) -> CancelledAll:
    """Cancel the running request and every waiting one, each once (CANVAS 92).

    One that fails with an `AgentServerError` does not stop the others and is not counted.
    """
    running = queued = 0
    for entry in snapshot.entries() if snapshot else ():
        try:
            await cancel(entry.request_id)
        except AgentServerError:
            continue
        if snapshot and entry is snapshot.running:
            running += 1
        else:
            queued += 1
    return CancelledAll(running, queued)
