"""The embedded agent-server in a thread of the tests, with a command whose output a test directs.

`@told <name>` shows nothing by itself: `Director.part(name)` gives the test its `Part`, and what
the part is told to show goes over a real WebSocket to the real site.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from chat.localagent import LocalAgent
from chat.localagent.commands import run_command
from chat.localagent.context import Aborted, CommandContext, markdown
from chat.localagent.wire import Json, WireError
from tests.processes import PATIENCE_S

COMMAND = "@told "


class Part:
    """One running `@told`. Its methods may be called from the thread of the test only."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[Json] = self._loop.create_future()
        self.ended = threading.Event()
        """The command is over, by its own end or because it was cancelled."""
        self.cancelled = False

    def append(self, *chunks: str) -> Self:
        """Stream pieces of markdown."""
        for chunk in chunks:
            self._do(lambda chunk=chunk: self._context.show(markdown(chunk), "inline"))  # type: ignore[misc]
        return self

    def show(self, *contents: Json, source: str | None = None, **about: Json) -> Self:
        """Show any content, each in a block of its own; `about` are more fields of the message."""

        def show() -> None:
            for content in contents:
                self._context.show(content, source=source, **about)

        self._do(show)
        return self

    def replace(self, text: str) -> Self:
        """Show this instead of all that was shown."""
        return self.set(markdown(text))

    def set(self, content: Json) -> Self:
        """Show any content instead of all that was shown."""
        self._do(lambda: self._context.replace(content))
        return self

    def finish(self) -> None:
        """Let the command end."""
        self._do(lambda: self.over.set_result(None))

    def fail(self, error: str) -> None:
        """Let the command fail."""
        self._do(lambda: self.over.set_exception(WireError(error)))

    def _do(self, act: Callable[[], object]) -> None:
        done = threading.Event()

        def run() -> None:
            act()
            done.set()

        self._loop.call_soon_threadsafe(run)
        assert done.wait(PATIENCE_S)


class Director:
    """Runs a `LocalAgent` from `start` to `stop`."""

    def __init__(self, data: Path) -> None:
        self.url = ""
        self.data = data
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._end = asyncio.Event()
        self._news = threading.Condition()
        self._parts: dict[str, Part] = {}
        self._begun: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> Self:
        """Serve on a free port of loopback."""
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)
        return self

    def stop(self) -> None:
        """End all of it at once."""
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(PATIENCE_S)

    def part(self, name: str, time: int = 1) -> Part:
        """The command `@told <name>` as soon as it runs, for the first or a later time."""
        with self._news:
            assert self._news.wait_for(lambda: self._begun[name] >= time, PATIENCE_S), name
            return self._parts[name]

    def count(self, name: str) -> int:
        """How often `@told <name>` has begun."""
        return self._begun[name]

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Neither hears nor says anything meanwhile: whatever is asked is answered afterwards."""
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            held.set()
            release.wait(PATIENCE_S)

        self._loop.call_soon_threadsafe(hold)
        assert held.wait(PATIENCE_S)
        try:
            yield
        finally:
            release.set()

    async def _run_command(self, context: CommandContext) -> None:
        text = context.request.text
        if not text.startswith(COMMAND):
            await run_command(context)
            return
        context.begin("test", ["told"])
        part = Part(context)
        name = text.removeprefix(COMMAND).strip()
        with self._news:
            self._parts[name] = part
            self._begun[name] += 1
            self._news.notify_all()
        try:
            await context.until(part.over)
        except Aborted:
            part.cancelled = True
            raise
        finally:
            part.ended.set()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with LocalAgent(self.data, run_command=self._run_command).serving() as agent:
            self.url = agent.url
            self._ready.set()
            await self._end.wait()
