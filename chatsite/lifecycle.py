"""Begins and ends what runs beside the requests, whatever server runs the site.

Daphne has no lifespan, so its reactor is hooked; other servers call the lifespan app.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

HARD_EXIT_S = 15
"""How long an orderly end may take before the process ends itself."""

logger = logging.getLogger(__name__)

type Hook = Callable[[], Awaitable[None]]


def hook_reactor(startup: Hook, shutdown: Hook) -> None:
    """Runs the hooks with Daphne's reactor, if this process has one that ever runs."""
    reactor = sys.modules.get("twisted.internet.reactor")
    if reactor is None:
        return
    from twisted.internet.defer import Deferred

    # The asyncio loop runs only after "when running", so one turn later.
    def begin() -> None:
        task = asyncio.ensure_future(_logged(startup))
        running.add(task)
        task.add_done_callback(running.discard)

    def end() -> Deferred[None]:
        arm_hard_exit(HARD_EXIT_S)
        return Deferred.fromFuture(asyncio.ensure_future(_logged(shutdown)))

    running: set[asyncio.Future[None]] = set()
    reactor.callWhenRunning(reactor.callLater, 0, begin)
    reactor.addSystemEventTrigger("before", "shutdown", end)


def lifespan_app(startup: Hook, shutdown: Hook) -> Callable[..., Awaitable[None]]:
    """The same as an ASGI lifespan application."""

    async def lifespan(_scope: Any, receive: Any, send: Any) -> None:
        while True:
            event = (await receive())["type"]
            if event == "lifespan.startup":
                await _logged(startup)
            else:
                arm_hard_exit(HARD_EXIT_S)
                await _logged(shutdown)
            await send({"type": f"{event}.complete"})
            if event == "lifespan.shutdown":
                return

    return lifespan


def arm_hard_exit(after_s: float) -> threading.Timer:
    """Ends the process after that time, whatever still hangs by then."""
    timer = threading.Timer(after_s, os._exit, (1,))
    timer.daemon = True
    timer.start()
    return timer


async def _logged(hook: Hook) -> None:
    # A hook that fails must not keep the server from starting, nor from ending.
    try:
        await hook()
    except Exception:
        logger.exception("%s failed", getattr(hook, "__qualname__", hook))
