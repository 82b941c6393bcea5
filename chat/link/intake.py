"""Events from upstream, in order: held back while the log is merged, then applied to memory.

Also keeps count of the agent-server's log, whose positions no live event tells (WIRE.md 8).
"""

from __future__ import annotations

from collections.abc import Callable

from chat.agentserver.events import Event
from chat.agentserver.log import is_logged
from chat.db import in_db
from chat.link.tasks import spawn
from chat.transcript import reading
from chat.transcript.live import LiveTranscript


class Intake:
    """One per link. `cursor` is the log position before which nothing is unfinished: the next
    join reads from there. `on_change` is called when memory changed.
    """

    def __init__(
        self,
        conversation_id: int,
        live: LiveTranscript,
        *,
        cursor: int,
        on_change: Callable[[], None],
    ) -> None:
        self.cursor = cursor
        self.held: list[Event] = []
        self._conversation_id = conversation_id
        self._live = live
        self._position = cursor
        self._on_change = on_change
        self._holding = False

    def hold(self) -> None:
        """Keep events back from now on; what was held before belonged to an older socket."""
        self.held = []
        self._holding = True

    def take(self, event: Event) -> None:
        """An event has come."""
        if self._holding:
            self.held.append(event)
        else:
            self._apply(event, counted=True)

    def release(self, logged: int) -> None:
        """Apply what was held; of the first `logged` only what the merged log does not have."""
        held, self.held, self._holding = self.held, [], False
        for index, event in enumerate(held):
            if index >= logged or not is_logged(event):
                self._apply(event, counted=index >= logged)
        self._on_change()

    def merged(self, newest: int) -> None:
        """The log was read up to this position."""
        self._position = newest
        self._advance()

    def restart(self) -> None:
        """Another conversation begins, with a log of its own."""
        self.cursor = self._position = -1

    def _apply(self, event: Event, *, counted: bool) -> None:
        if counted and is_logged(event):
            self._position += 1
        self._live.apply(event)
        if self._live.take_strangers():
            spawn(self._look_up_strangers(), name="strangers")
        self._advance()
        self._on_change()

    def _advance(self) -> None:
        if not self._live.running:
            self.cursor = self._position

    async def _look_up_strangers(self) -> None:
        names = self._live.take_strangers()
        self._live.adopt(await in_db(reading.by_request_id, self._conversation_id, names))
        self._live.settle_strangers(names & self._live.take_strangers())
        self._on_change()
