"""An agent-server whose answers say when each piece of them was sent.

Run as `python -m tests.benchmarks.clock_agent FOLDER`; prints its address. `@clock` streams
`CHUNKS` pieces of `CHUNK_CHARS` characters, `RATE` a second.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from pathlib import Path

from chat.localagent import LocalAgent
from chat.localagent.commands import run_command
from chat.localagent.context import CommandContext, markdown

ASK = "@clock"
CHUNKS = 400
RATE = 100  # pieces a second
PARAGRAPH = 10  # pieces
STAMP = re.compile(r"(\d{3})-(\d{14})")
"""The number of a piece, and when it was sent: in microseconds, by the clock of the machine."""

CHUNK_CHARS = 20


def piece(number: int) -> str:
    """20 characters that say when they were made."""
    now = time.monotonic_ns() // 1000
    return f"{number:03d}-{now:014d}" + ("\n\n" if number % PARAGRAPH == PARAGRAPH - 1 else "  ")


async def run(context: CommandContext) -> None:
    """`@clock` here, everything else as ever."""
    if context.request.text != ASK:
        await run_command(context)
        return
    context.begin("test", ["clock"])
    began = time.monotonic()
    for number in range(CHUNKS):
        await context.sleep(max(0.0, began + number / RATE - time.monotonic()))
        context.show(markdown(piece(number)), "inline")


async def main(folder: Path) -> None:
    async with LocalAgent(folder, run_command=run).serving() as agent:
        print(agent.url, flush=True)  # noqa: T201 - the caller reads it
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
