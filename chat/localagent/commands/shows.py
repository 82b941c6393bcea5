"""`@test show <kind>`: one display of every form, as in the recordings (WIRE.md 6)."""

from __future__ import annotations

import uuid

from chat.localagent.context import CommandContext, markdown, text
from chat.localagent.wire import Json, WireError

from .prompting import PROMPTS
from .table import Command, Run, Table

SLOW_TICK_S = 0.5
SLOW_TICKS = 60
BIG_CHARS = 2_000_000
KINDS = ("info", "status", "warning", "error", "success")
STRUCTURED: dict[str, Json] = {
    "type": "structured",
    "blocks": [
        {"kind": "heading", "text": "Title", "level": 2},
        {"kind": "text", "text": "para **b**"},
        {
            "kind": "table",
            "columns": [{"id": "a", "header": "A"}, {"id": "b", "header": "B", "type": "badge"}],
            "rows": [
                ["x", {"text": "ok", "badge": "success"}],
                [1, {"text": "l", "href": "https://example.com/"}],
            ],
        },
        {"kind": "list", "ordered": True, "items": [{"text": "i1"}]},
        {"kind": "keyValue", "pairs": [{"label": "k", "value": "v"}]},
        {"kind": "card", "title": "card", "fields": [{"label": "f", "value": 2}]},
        {"kind": "code", "code": "x = 1", "language": "python"},
        {"kind": "divider"},
    ],
    "alternates": [
        {"type": "markdown", "content": "## Title\n\npara **b**\n\n1. i1"},
        {"type": "text", "content": "Title\n\npara b\n\n1. i1"},
    ],
    "rawData": {"n": 2},
}
SIMPLE: dict[str, Json] = {
    "html": {"type": "html", "content": "<b>bold</b> <i>it</i>"},
    "iframe": {"type": "iframe", "content": "<p>frame</p>"},
    "markdown": markdown("# H1\n\n- a\n- b\n\n`code`"),
    "mdlines": markdown(["# one", "two"]),
    "lines": ["line 1", "line 2"],
    "table": text([["h1", "h2"], ["a", "b"], ["c", "d"]]),
    "alternates": {
        "type": "html",
        "content": "<b>rich</b>",
        "alternates": [{"type": "text", "content": "plain"}],
        "speak": True,
    },
    "structured": STRUCTURED,
    "big": "x" * BIG_CHARS,
    "unicode": "naïve — 日本語 😀 \u2028 end \x00nul \x1b[31mred\x1b[0m",
    "lone": "lone surrogate \ud83d end",
}
"""Kinds that are one piece of content."""


async def show(context: CommandContext, rest: str) -> None:
    """Show one kind; for an unknown one say which there are."""
    kind, _, params = rest.partition(" ")
    run = SHOWS.get(kind)
    if run is None:
        context.show(text(f"There is no kind '{kind}'. Kinds: {', '.join(SHOWS)}", "error"))
        return
    await run(context, params)


async def request(context: CommandContext, rest: str) -> None:
    """Echo the text."""
    context.replace(rest)


async def attach(context: CommandContext, _rest: str) -> None:
    """Tell the sizes of the attachments."""
    sizes = ",".join(str(len(str(a))) for a in context.request.attachments)
    context.result(f"attachments: [{sizes}]")


def simple(content: Json) -> Run:
    """A command that shows this and nothing else."""

    async def run(context: CommandContext, _rest: str) -> None:
        context.show(content)

    return run


async def _set(context: CommandContext, _rest: str) -> None:
    context.replace("first")
    context.replace(text("second (replaces)"))


async def _kinds(context: CommandContext, _rest: str) -> None:
    for kind in KINDS:
        context.show(text(f"kind {kind}", kind))


async def _modes(context: CommandContext, _rest: str) -> None:
    context.show(text("working 1", "status"), "temporary")
    await context.work(0.1)
    context.show(text("working 2", "status"), "temporary")
    context.show("block text")
    context.show("in", "inline")
    context.show("line", "inline")
    context.show(markdown("step A"), "step")
    context.show(markdown("step B"), "step")
    context.show("default-mode", "inline")


async def _stream(context: CommandContext, _rest: str) -> None:
    for piece in ("Hello", ", ", "streamed ", "world", "!"):
        context.show(markdown(piece), "inline")
        await context.work(0.03)


async def _thread(context: CommandContext, _rest: str) -> None:
    for kind in ("toast", "inline", "bubble"):
        agents_own = {"requestId": "", "clientRequestId": f"agent-test-{uuid.uuid4()}"}
        about: dict[str, Json] = {"requestId": agents_own, "source": context.source, "kind": kind}
        context.display.set({"message": f"thread set {kind}", **about})
        context.display.append({"message": markdown(f"thread append {kind}"), **about}, "block")


async def _notify(context: CommandContext, _rest: str) -> None:
    notify = context.display.notify
    notify(None, "info", "notify info", context.source)
    notify("nid-1", "toast", "notify toast", context.source)
    notify("nid-2", "inline", markdown("notify inline"), context.source)
    notify(None, "error", "notify error", context.source)


async def _take(context: CommandContext, _rest: str) -> None:
    context.only_me("takeAction", "open-folder", "documents")
    context.only_me("takeAction", "show-notification", {"title": "t"})


async def _diag(context: CommandContext, _rest: str) -> None:
    context.display.diagnostic(context.ref, {"hello": "diag"})


async def _throw(context: CommandContext, _rest: str) -> None:
    await context.pause()
    raise WireError("boom from agent")


async def _err(context: CommandContext, _rest: str) -> None:
    await context.pause()
    context.diagnose_result({"error": "returned error text"})
    context.show(text("returned error text", "error"))


async def _errdisp(context: CommandContext, _rest: str) -> None:
    await context.pause()
    rich = {**markdown("**rich** error"), "kind": "error"}
    context.diagnose_result({"error": "plain error", "errorDisplayContent": rich})
    context.show(rich)


async def _nothing(context: CommandContext, _rest: str) -> None:
    await context.pause()


async def _dyn(context: CommandContext, _rest: str) -> None:
    await context.pause()
    dynamic = {"dynamicDisplayId": "dyn-1", "dynamicDisplayNextRefreshMs": 500}
    context.diagnose_result({"entities": [], **dynamic, "displayContentType": "string"})
    context.show("initial dynamic")
    args = [context.ref, context.source, 0, "dyn-1", 500]
    context.conversation.audience.send("setDynamicDisplay", args, context.request.originator)


async def _slow(context: CommandContext, _rest: str) -> None:
    for tick in range(SLOW_TICKS):
        context.show(text(f"tick {tick}", "status"), "temporary")
        await context.work(SLOW_TICK_S)
    context.result("slow finished")


async def _slow3(context: CommandContext, _rest: str) -> None:
    await context.work(3)
    context.result("slow3 finished")


async def _deaf(context: CommandContext, _rest: str) -> None:
    await context.deaf_sleep(4)
    context.result("deaf finished")


SHOWS: dict[str, Run] = {
    **{kind: simple(content) for kind, content in SIMPLE.items()},
    "set": _set,
    "kinds": _kinds,
    "modes": _modes,
    "stream": _stream,
    "thread": _thread,
    "notify": _notify,
    "take": _take,
    "diag": _diag,
    "throw": _throw,
    "err": _err,
    "errdisp": _errdisp,
    "nothing": _nothing,
    "dyn": _dyn,
    "slow": _slow,
    "slow3": _slow3,
    "deaf": _deaf,
    **PROMPTS,
}
COMMANDS: Table = {
    ("test", "show"): Command("test", ["show"], show),
    ("test", "request"): Command("test", ["request"], request),
    ("test", "attach"): Command("test", ["attach"], attach),
}
