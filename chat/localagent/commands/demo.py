"""`@demo <kind>`: what a person can try, and a stream that a test or a benchmark can shape."""

from __future__ import annotations

import asyncio

from chat.localagent.context import CommandContext, markdown, text
from chat.localagent.demotext import chunks_of, demo_text
from chat.localagent.wire import WireError

from .shows import SHOWS, simple
from .structured import DEMOS as BLOCKS
from .table import Command, Run, Table

STREAM_CHARS, STREAM_S, STREAM_CHUNKS = 2_000, 3.0, 120
LONG_CHARS, LONG_S, LONG_CHUNKS = 8_000, 4.0, 400
BIG_KB = 64
MAX_CHARS = 50_000_000
SLOW_S = 10.0
ANSI = "\x1b[1mbold\x1b[0m \x1b[31mred\x1b[0m \x1b[32mgreen\x1b[0m \x1b[4munderlined\x1b[0m"
RICH = (
    "# Heading\n\nSome *emphasis*, **strong**, `code` and a [link](https://example.com/).\n\n"
    "1. one\n2. two\n   - nested\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```python\nx = 1\n```\n"
)


async def demo(context: CommandContext, rest: str) -> None:
    """Show one kind, or list them."""
    kind, _, params = rest.partition(" ")
    run = DEMOS.get(kind)
    if run is None:
        lines = "\n".join(f"- `@demo {name}`" for name in DEMOS)
        context.show(markdown(f"Kinds to try:\n\n{lines}"))
        return
    await run(context, params)


async def slow(context: CommandContext, rest: str) -> None:
    """`@slow N`: take N seconds, with a sign of life each second."""
    left = _number(rest.split()[0] if rest else "", SLOW_S)
    while left > 0:
        context.show(text(f"working, {left:g} s left", "status"), "temporary")
        await context.work(min(1, left))
        left -= 1
    context.show("Done.")


async def stream(context: CommandContext, rest: str) -> None:
    """`@demo stream [characters [seconds [chunks]]]`: the whole text replaces what streamed."""
    words = [*rest.split(), "", "", ""]
    chars = min(int(_number(words[0], STREAM_CHARS)), MAX_CHARS)
    pieces = int(_number(words[2], STREAM_CHUNKS))
    await stream_text(context, demo_text(chars), _number(words[1], STREAM_S), pieces)


async def stream_text(context: CommandContext, whole: str, seconds: float, pieces: int) -> None:
    """Stream a text in pieces, evenly over the time, however late the loop is."""
    loop = asyncio.get_running_loop()
    chunks = chunks_of(whole, pieces)
    seconds *= context.conversation.settings.pace
    began = loop.time()
    for number, chunk in enumerate(chunks, 1):
        context.show(markdown(chunk), "inline")
        await context.sleep(max(0, began + seconds * number / len(chunks) - loop.time()))
    context.replace(markdown(whole))


async def _long(context: CommandContext, _rest: str) -> None:
    await stream_text(context, demo_text(LONG_CHARS), LONG_S, LONG_CHUNKS)


async def _big(context: CommandContext, rest: str) -> None:
    chars = min(int(_number(rest, BIG_KB) * 1_000), MAX_CHARS)
    context.show(markdown(demo_text(chars)))


async def _text(context: CommandContext, _rest: str) -> None:
    context.show(text("Plain text: <b>no markup</b>, *no* emphasis.\nA second line."))


async def _markdown(context: CommandContext, _rest: str) -> None:
    context.show(markdown(RICH))


async def _ansi(context: CommandContext, _rest: str) -> None:
    context.show(text(ANSI))


async def _error(context: CommandContext, _rest: str) -> None:
    await context.pause()
    raise WireError("this is what an error looks like")


async def _temporary(context: CommandContext, _rest: str) -> None:
    for number in (1, 2, 3):
        context.show(text(f"Looking, step {number} of 3", "status"), "temporary")
        await context.work(0.5)
    context.show("Found it.")


async def _steps(context: CommandContext, _rest: str) -> None:
    for number in (1, 2, 3):
        context.show(markdown(f"**Step {number}** of 3"), "step")
        await context.work(0.3)
    context.show(markdown("All steps are done."), "step")


async def _question(context: CommandContext, _rest: str) -> None:
    labels = ["Tea", "Coffee", "Neither"]
    answer = await context.ask("What would you like?", labels, 2, owned=True, source="demo")
    known = isinstance(answer, int) and 0 <= answer < len(labels)
    context.show(f"You chose: {labels[answer] if known else answer}")


DEMOS: dict[str, Run] = {
    "stream": stream,
    "long": _long,
    "big": _big,
    "text": _text,
    "markdown": _markdown,
    "ansi": _ansi,
    "error": _error,
    "temporary": _temporary,
    "steps": _steps,
    "question": _question,
}
DEMOS |= {kind: simple(content) for kind, content in BLOCKS.items()}
DEMOS |= {kind: run for kind, run in SHOWS.items() if kind not in DEMOS}
COMMANDS: Table = {
    ("demo",): Command("demo", ["demo"], demo, "Show a kind of display; alone it lists them"),
    ("slow",): Command("demo", ["slow"], slow, "Take N seconds: @slow 10"),
}


def _number(word: str, default: float) -> float:
    try:
        value = float(word)
    except ValueError:
        return default
    return value if 0 <= value < float("inf") else default
