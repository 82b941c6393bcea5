"""Events from upstream, in order: held back while the log is merged, then applied to memory.

Also keeps count of the agent-server's log, whose positions no live event tells (WIRE.md 8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from chat.agentserver.events import AppendDisplay, Event
from chat.agentserver.log import is_logged
from chat.db import in_db
from chat.link.tasks import cancelled, spawn
from chat.transcript import reading
from chat.transcript.effects import key_of
from chat.transcript.live import LiveTranscript

LOOK_AGAIN_S = 1.0

log = structlog.get_logger(__name__)


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
        self._holding = True
        self._looking: asyncio.Task[None] | None = None

    def hold(self) -> None:
        """Keep events back from now on; what was held before belonged to an older socket."""
        self.held = []
        self._holding = True

    def take(self, event: Event) -> None:
        """An event has come."""
        if self._holding:
            self.held.append(event)
            return
        self._apply(event, counted=True)
        self._after()

    def keep_only(self, upstream_id: str) -> None:
        """Of what is held, drop what another conversation said that was joined by mistake."""
        self.held[:] = [event for event in self.held if event.conversation_id == upstream_id]

    def release(self, logged: int = 0, merged: frozenset[str] = frozenset()) -> None:
        """Apply what was held. The log has what the first `logged` of them told; of the requests
        in `merged` it was all applied from there.
        """
        held, self.held, self._holding = self.held, [], False
        lasting = {
            key_of(event): index for index, event in enumerate(held[:logged]) if is_logged(event)
        }
        for index, event in enumerate(held):
            if index >= logged:
                self._apply(event, counted=True)
            elif is_logged(event):
                if key_of(event) not in merged:  # such as late output of what is finished
                    self._apply(event, counted=False)
            elif not _is_over(event, index, lasting):
                self._apply(event, counted=False)
        self._after()

    def merged(self, newest: int) -> None:
        """The log was read up to this position."""
        self._position = newest

    def restart(self) -> None:
        """Another conversation begins, with a log of its own."""
        self.cursor = self._position = -1

    async def looked_up(self) -> None:
        """Until every request that events named is known to be one of ours or not."""
        if self._looking is not None:
            await asyncio.wait([self._looking])

    async def end(self) -> None:
        await cancelled(self._looking)

    def _apply(self, event: Event, *, counted: bool) -> None:
        if counted and is_logged(event):
            self._position += 1
        self._live.apply(event)

    def _after(self) -> None:
        if not self._live.running and not self._live.strangers:
            self.cursor = self._position
        if self._live.strangers and self._looking is None:
            self._looking = spawn(self._look_up_strangers(), name="strangers")
        self._on_change()

    async def _look_up_strangers(self) -> None:
        """One look at a time, so that what comes meanwhile stays behind what came before."""
        try:
            while names := self._live.strangers:
                try:
                    known = await in_db(reading.by_request_id, self._conversation_id, names)
                except Exception as error:
                    log.warning("look-up failed", error=type(error).__name__)
                    await asyncio.sleep(LOOK_AGAIN_S)
                    continue
                self._live.adopt(known)
                self._live.settle_strangers(names)
        finally:
            self._looking = None
        self._after()


def _is_over(event: Event, index: int, lasting: dict[str | None, int]) -> bool:
    """Whether it is a temporary that something lasting has replaced already."""
    return isinstance(event, AppendDisplay) and lasting.get(key_of(event), -1) > index
