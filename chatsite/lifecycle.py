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

START_PATIENCE_S = 2
"""How long a server with a lifespan waits for the links before it serves pages without them."""

logger = logging.getLogger(__name__)

type Hook = Callable[[], Awaitable[None]]


class Life:
    """What begins and ends beside the requests. `stop_within_s` is how long the end may take
    before the process ends itself.
    """

    def __init__(self, startup: Hook, shutdown: Hook, *, stop_within_s: float) -> None:
        self._startup, self._shutdown = startup, shutdown
        self._stop_within_s = stop_within_s
        self._starting: asyncio.Future[None] | None = None

    def begin(self) -> asyncio.Future[None]:
        """The start, which goes on until it succeeds or `end` is called."""
        self._starting = asyncio.ensure_future(_logged(self._startup))
        return self._starting

    async def end(self) -> None:
        """Raises nothing: a hook that fails must not keep the server from ending."""
        arm_hard_exit(self._stop_within_s)
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait([self._starting])
        await _logged(self._shutdown)


def hook_reactor(life: Life) -> None:
    """Runs the hooks with Daphne's reactor, if this process has one that ever runs."""
    reactor = sys.modules.get("twisted.internet.reactor")
    if reactor is None:
        return
    from twisted.internet.defer import Deferred

    def end() -> Deferred[None]:
        return Deferred.fromFuture(asyncio.ensure_future(life.end()))

    # The asyncio loop runs only after "when running", so one turn later.
    reactor.callWhenRunning(reactor.callLater, 0, life.begin)
    reactor.addSystemEventTrigger("before", "shutdown", end)


def end_reactor(within_s: float) -> None:
    """Ends Daphne's reactor in good order where it runs in another thread; waits for that."""
    reactor = sys.modules.get("twisted.internet.reactor")
    if reactor is None or not reactor.running:
        return
    ended = threading.Event()
    reactor.callFromThread(reactor.addSystemEventTrigger, "after", "shutdown", ended.set)
    reactor.callFromThread(reactor.stop)
    ended.wait(within_s)


def lifespan_app(life: Life) -> Callable[..., Awaitable[None]]:
    """The same as an ASGI lifespan application."""

    async def lifespan(_scope: Any, receive: Any, send: Any) -> None:
        while True:
            event = (await receive())["type"]
            if event == "lifespan.startup":
                await asyncio.wait([life.begin()], timeout=START_PATIENCE_S)
            else:
                await life.end()
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
