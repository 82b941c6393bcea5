"""The commands of the agent-server itself: help, clear, exit, conversations, questions, its end."""

from __future__ import annotations

import asyncio
from datetime import datetime

from chat.localagent.context import FAILED, CommandContext, text
from chat.localagent.wire import Json, WireError

from .table import Command, Table
from .words import split_words

AGENTS = [
    ["Agent Name (* default agent)", "Description"],
    ["dispatcher", "Passes plain text to the built-in responder"],
    ["system *", "Commands of this agent-server"],
    ["demo", "Shows what a page can display"],
    ["test", "The same displays under the names of the protocol recordings"],
]
UNKNOWN = "ERROR: Command or agent name required.\n\nUsage: @[<agentName>] <subcommand> ..."
TITLE = "Type Agent System Commands"
YES_NO = ["Yes", "No"]
NO = 1
"""The index of the safe answer."""


async def help_(context: CommandContext, _rest: str) -> None:
    """List the commands, in the frames of the real server's `@help`."""
    from . import COMMANDS  # the table holds this very function

    rows = [[" ".join(words), command.help] for words, command in COMMANDS.items() if command.help]
    usage = "Usage: @[<agentName>] <subcommand> ..."
    table = [["Sub commands", "Description"], *rows]
    for content in (TITLE, "\n", usage, "\n", AGENTS, "\n", table):
        context.show(content)


async def unknown(context: CommandContext) -> None:
    """Say that there is no such command, as the real server says it."""
    context.source = "dispatcher"
    context.outcome.disposition = dict(FAILED)
    context.show(text(f"{UNKNOWN}\n\nTry @help.", "error"))


async def clear(context: CommandContext, _rest: str) -> None:
    """Ask the client to clear its view; the log stays."""
    context.only_me("clear")


async def clear_deep(context: CommandContext, _rest: str) -> None:
    """Empty the log too; its `seq` restarts at 0."""
    context.display.log.clear()
    context.only_me("clear")


async def exit_(context: CommandContext, _rest: str) -> None:
    """Ask the client to end."""
    context.only_me("exit")


async def shutdown(context: CommandContext, _rest: str) -> None:
    """End the server at once: the submit is never answered."""
    await context.end_server("shutdown")


async def restart(context: CommandContext, _rest: str) -> None:
    """End the server at once, to be started again."""
    await context.end_server("restart")


async def session_delete(context: CommandContext, _rest: str) -> None:
    """A question with a requestId: nothing is deleted here whatever the answer."""
    await context.pause()
    question = f"Are you sure you want to delete session '{_today()}'?"
    await _confirm(context, question, "Session deleted.")


async def session_clear(context: CommandContext, _rest: str) -> None:
    """The same, asked before the submit is answered."""
    question = f"Are you sure you want to clear data for current session '{_today()}'?"
    await _confirm(context, question, "Session data cleared.")


async def conversation(context: CommandContext, rest: str) -> None:
    """Ask the client to manage conversations: the server does nothing itself (WIRE.md 6)."""
    words = split_words(rest)
    name, params = words[0] if words else "help", words[1:]
    payload = _manage_payload(name, params)
    if payload is None:
        context.source = "dispatcher"
        context.outcome.disposition = dict(FAILED)
        context.show(text(f"ERROR: '{name}' is not a subcommand for '@conversation'.", "error"))
        return
    context.begin("system", ["conversation", name] if words else ["conversation"])
    context.only_me("takeAction", "manage-conversation", payload)


async def display(context: CommandContext, rest: str) -> None:
    """Show a text as it is."""
    context.show({**text(rest), "speak": False})


async def fail(context: CommandContext, rest: str) -> None:
    """Fail with a text."""
    await context.pause()
    raise WireError(rest or "this command always fails")


def _manage_payload(name: str, params: list[str]) -> dict[str, Json] | None:
    payload: dict[str, Json] = {"subcommand": name}
    match name, params:
        case (("list" | "info" | "next" | "prev" | "help" | "new"), []):
            return payload
        case "switch", []:
            return {"subcommand": "next"}
        case (("new" | "switch" | "delete"), [conversation_name, *_]):
            return {**payload, "name": conversation_name}
        case "rename", [new_name]:
            return {**payload, "newName": new_name}
        case "rename", [old_name, new_name, *_]:
            return {**payload, "name": old_name, "newName": new_name}
        case (("find" | "search"), [_, *_]):
            return {**payload, "query": " ".join(params)}
    return None


async def _confirm(context: CommandContext, question: str, done: str) -> None:
    asker = context.request.originator
    answer = await context.ask(question, YES_NO, NO, owned=True, source=asker)
    if answer == NO:
        context.show(text("Cancelled!", "warning"))
    else:
        await asyncio.sleep(0)  # the answer is acknowledged before it takes effect
        context.show(text(done, "success"))


def _today() -> str:
    return f"{datetime.now():%Y%m%d}"  # noqa: DTZ005 - a name, in the user's own time


COMMANDS: Table = {
    ("help",): Command("system", ["help"], help_, "Show this"),
    ("clear",): Command("system", ["clear"], clear, "Clear the page"),
    ("clear", "deep"): Command(
        "system", ["clear", "deep"], clear_deep, "Clear the page and empty the server's history"
    ),
    ("display",): Command("system", ["display"], display, "Show a text: @display hello"),
    ("fail",): Command("system", ["fail"], fail, "Fail with an error: @fail <text>"),
    ("exit",): Command("system", ["exit"], exit_, "Ask the client to end"),
    ("session", "delete"): Command(
        "system", ["session", "delete"], session_delete, "Ask a question and wait for the answer"
    ),
    ("session", "clear"): Command(
        "system", ["session", "clear"], session_clear, "Ask another question"
    ),
    ("conversation",): Command(
        "system", None, conversation, "new, list, switch, rename, delete, find ..."
    ),
    ("shutdown",): Command("system", ["shutdown"], shutdown, "End this agent-server"),
    ("server", "restart"): Command("system", ["server", "restart"], restart, "Restart it"),
}
