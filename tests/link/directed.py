"""The embedded agent-server with a command whose output a test directs: `@told <name>`."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self

from chat.localagent.commands import run_command
from chat.localagent.context import Aborted, CommandContext, markdown
from chat.localagent.server import LocalAgent
from chat.localagent.settings import Settings
from chat.localagent.wire import Json
from tests.link.wait import until

COMMAND = "@told "


class Part:
    """One running `@told`."""

    def __init__(self, context: CommandContext) -> None:
        self.context = context
        self.over: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self.cancelled = False

    @property
    def request_id(self) -> str:
        return self.context.request.request_id

    def append(self, *chunks: str) -> Self:
        """Stream pieces of markdown."""
        for chunk in chunks:
            self.context.show(markdown(chunk), "inline")
        return self

    def show(self, content: Json, mode: str = "block", **extra: Json) -> Self:
        self.context.show(content, mode, **extra)
        return self

    def replace(self, text: str) -> Self:
        self.context.replace(markdown(text))
        return self

    def finish(self) -> None:
        """Let the command end."""
        if not self.over.done():
            self.over.set_result(None)


class DirectedAgent:
    """Serve with `serving`; several times one after another, on one port, for restarts."""

    def __init__(self, data: Path, **settings: float) -> None:
        self._data = data
        self._settings = Settings(**{"coalesce_s": 0.01, "word_delay_s": 0, "pace": 0, **settings})  # type: ignore[arg-type]
        self.parts: dict[str, Part] = {}
        self.begun: Counter[str] = Counter()
        self.port = 0
        self.peak = 0
        self.server: LocalAgent

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[Self]:
        agent = LocalAgent(self._data, self._settings, self._run)
        async with agent.serving(self.port) as server:
            self.server, self.port = server, server.port
            yield self
            self.peak = max(self.peak, server.connections_peak)

    async def part(self, name: str, time: int = 1) -> Part:
        """The command `@told <name>` as soon as it runs, for the first or a later time."""
        await until(lambda: self.begun[name] >= time, f"@told {name} runs")
        return self.parts[name]

    async def _run(self, context: CommandContext) -> None:
        text = context.request.text
        if not text.startswith(COMMAND):
            await run_command(context)
            return
        context.begin("test", ["told"])
        name = text.removeprefix(COMMAND).strip()
        part = self.parts[name] = Part(context)
        self.begun[name] += 1
        try:
            await context.until(part.over)
        except Aborted:
            part.cancelled = True
            raise
