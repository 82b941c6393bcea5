"""Whether this process can serve: its database, its channel layer and its heartbeat."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from channels.layers import get_channel_layer

from chat.db import ask_database
from chat.link import hub
from chat.link.tasks import spawn

LIMIT_S = 2.0
"""After so long without an answer there is none."""

OK, FAILED, SILENT = "ok", "failed", "no answer"
NOT_RUNNING, TOO_OLD = "not running", "too old"

log = structlog.get_logger(__name__)


class Readiness:
    """However many ask at a time, each part is asked once, and not again while it still hangs."""

    def __init__(self) -> None:
        self._database = _Shared("database", ask_database)
        self._layer = _Shared("layer", _round_trip)

    async def look(self) -> tuple[bool, dict[str, str]]:
        """Whether all parts are well, and a word for each. Takes `LIMIT_S` at most."""
        database, layer = await asyncio.gather(self._database.word(), self._layer.word())
        parts = {"database": database, "layer": layer, "heartbeat": _heartbeat()}
        return all(word == OK for word in parts.values()), parts


class _Shared:
    def __init__(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        self._name = name
        self._work = work
        self._running: asyncio.Task[bool] | None = None

    async def word(self) -> str:
        if self._running is None or self._running.done():
            self._running = spawn(self._run(), name=f"look at the {self._name}")
        running = self._running  # the next to ask may begin anew before this one goes on
        done, _ = await asyncio.wait([running], timeout=LIMIT_S)
        if not done:
            return SILENT
        return OK if running.result() else FAILED

    async def _run(self) -> bool:
        try:
            await self._work()
        except Exception as error:
            log.warning("not ready", part=self._name, error=type(error).__name__)
            return False
        return True


async def _round_trip() -> None:
    here = hub.current()
    if here is None:
        raise RuntimeError(NOT_RUNNING)
    async with asyncio.timeout(LIMIT_S * 2):  # for a task that hangs in the layer does not end
        await here.echo()
    # What a layer delivers within the process comes without Redis too.
    if getattr(get_channel_layer(), "broken", False):
        raise ConnectionError


def _heartbeat() -> str:
    here = hub.current()
    if here is None:
        return NOT_RUNNING
    return OK if here.heart.is_fresh else TOO_OLD
