"""An event loop in a thread, for what must go on beside the tests, each of which has its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

from tests.processes import PATIENCE_S


class Loop:
    """From `start` to `stop`."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Cancel what runs, and end the thread."""
        self.do(self._cancel_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE_S)
        self.loop.close()

    def do[T](self, work: Coroutine[Any, Any, T]) -> T:
        """Run something there, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE_S)

    async def do_meanwhile[T](self, work: Coroutine[Any, Any, T]) -> T:
        """The same without holding up the loop that asks."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    async def _cancel_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others)
