"""The channel layer of a site that runs as one process."""

from __future__ import annotations

import time
from typing import Any

from channels.exceptions import ChannelFull
from channels.layers import InMemoryChannelLayer

CLEAN_EVERY_S = 10.0


class MemoryLayer(InMemoryChannelLayer):  # type: ignore[misc]
    """The stock layer looks at every channel on every send and every receive, which makes one
    busy conversation slow all others; here that clean-up runs every `CLEAN_EVERY_S` at most.

    A full channel still drops: a page that misses a push notices the gap (see C46).
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"capacity": 1000, **kwargs})
        self._next_clean = 0.0

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        self.require_valid_group_name(group)
        self._clean_expired()
        for channel in list(self.groups.get(group, ())):
            try:
                await self.send(channel, message)
            except ChannelFull:
                continue

    def _clean_expired(self) -> None:
        if time.monotonic() >= self._next_clean:
            self._next_clean = time.monotonic() + CLEAN_EVERY_S
            super()._clean_expired()
