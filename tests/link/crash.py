"""The end of a process, as seen by the others."""

from __future__ import annotations

import asyncio

from chat.link.hub import Hub


async def crash(hub: Hub) -> None:
    """Let it die as by SIGKILL: nothing more is written and nobody is told."""
    for task in hub._tasks:
        task.cancel()
        await asyncio.wait([task])
    if hub._fence_timer is not None:
        hub._fence_timer.cancel()
    for link in list(hub.links.values()):
        link._on_ended = lambda _link: None
        link.fence()
        await asyncio.wait([link.task])
    hub.links.clear()
    hub._closing = True
