"""The end of a process, as seen by the others."""

from __future__ import annotations

import asyncio

from chat.link.hub import Hub
from chat.link.tasks import cancelled


async def crash(hub: Hub) -> None:
    """Let it die as by SIGKILL: nothing more is written and nobody is told."""
    await cancelled(hub._listener)
    await hub.heart.stop()
    for link in list(hub.links.values()):
        link._on_ended = lambda _link: None
        link.fence()
        await asyncio.wait([link.task])
    hub.links.clear()
    hub.closing = True
