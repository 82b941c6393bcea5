"""Channel layers that lose messages, and worse: in memory, and on Redis."""

from __future__ import annotations

import asyncio
import os
import random
from typing import Any

from channels.exceptions import ChannelFull

from chat.link.layer import MemoryLayer
from chat.link.shared_layer import SharedLayer

EACH = 10
"""One message in so many is lost; of an unruly layer as many come twice, and as many late."""

LATE_S = 0.3


class LosingLayer(MemoryLayer):
    """Loses every tenth message that it should deliver."""

    count = 0

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        self.count += 1
        if self.count % EACH:
            await super().send(channel, message)


class UnrulyLayer(MemoryLayer):
    """Loses some, delivers some twice, and some so late that others come before them."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._rng = random.Random(os.getpid())  # noqa: S311 - not a secret
        self._late: set[asyncio.Task[None]] = set()

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        match self._rng.randrange(EACH):
            case 0:
                return
            case 1:
                await super().send(channel, message)
            case 2:
                task = asyncio.create_task(self._send_late(channel, message))
                self._late.add(task)
                task.add_done_callback(self._late.discard)
                return
        await super().send(channel, message)

    async def _send_late(self, channel: str, message: dict[str, Any]) -> None:
        await asyncio.sleep(self._rng.random() * LATE_S)
        try:
            await super().send(channel, message)
        except ChannelFull:
            return


class LosingSharedLayer(SharedLayer):
    """Loses every tenth, wherever it comes from."""

    def make_local(self) -> MemoryLayer:
        return LosingLayer()


class UnrulySharedLayer(SharedLayer):
    """The same on Redis, wherever a message comes from."""

    def make_local(self) -> MemoryLayer:
        return UnrulyLayer()
