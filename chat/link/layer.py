"""The channel layer of a site that runs as one process."""

from __future__ import annotations

import asyncio
import time
from copy import deepcopy
from typing import Any

from channels.exceptions import ChannelFull
from channels.layers import InMemoryChannelLayer

CLEAN_EVERY_S = 10.0


class MemoryLayer(InMemoryChannelLayer):  # type: ignore[misc]
    """The stock layer looks at every channel on every send and every receive, which makes one
    busy conversation slow all others; here that clean-up runs every `CLEAN_EVERY_S` at most.

    It also goes by the wall clock, and lets members go after a day, or when the process was
    paused for a minute. Here a channel goes when its oldest message is too old, twice in a row.

    A full channel still drops: a page that misses a push notices the gap (see C46).
    """

    broken = False
    """Whether other processes cannot be heard at this time: there are none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"capacity": 1000, **kwargs})
        self._next_clean = 0.0
        self._unread: dict[str, Any] = {}

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        self.require_valid_channel_name(channel)
        size = self.get_capacity(channel)
        queue = self.channels.setdefault(channel, asyncio.Queue(maxsize=size))
        try:
            queue.put_nowait((time.monotonic() + self.expiry, deepcopy(message)))
        except asyncio.QueueFull:
            raise ChannelFull(channel) from None

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        self.require_valid_group_name(group)
        self._clean_expired()
        for channel in list(self.groups.get(group, ())):
            try:
                await self.send(channel, message)
            except ChannelFull:
                continue

    def _clean_expired(self) -> None:
        now = time.monotonic()
        if now < self._next_clean:
            return
        self._next_clean = now + CLEAN_EVERY_S
        oldest = {
            channel: queue._queue[0] for channel, queue in self.channels.items() if queue.qsize()
        }
        unread = {channel: item for channel, item in oldest.items() if item[0] < now}
        for channel, item in unread.items():
            if self._unread.get(channel) is item:
                self.channels.pop(channel)
                self._remove_from_groups(channel)
        self._unread = unread
