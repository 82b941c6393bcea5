"""What a submitted text does: a command after `@`, and plain text for the built-in responder."""

from __future__ import annotations

from chat.localagent.context import CommandContext

from . import actions, demo, shows, system
from .responder import respond
from .table import Command, Table

COMMANDS: Table = {**system.COMMANDS, **actions.COMMANDS, **shows.COMMANDS, **demo.COMMANDS}
LONGEST = max(len(words) for words in COMMANDS)


async def run_command(context: CommandContext) -> None:
    """Run the request of a context to its end. Raises Aborted when it is cancelled."""
    text = context.request.text
    if not text.startswith("@"):
        await respond(context)
        return
    found = find(text[1:])
    if found is None:
        await system.unknown(context)
        return
    command, rest = found
    if command.action is not None:
        context.begin(command.source, command.action)
    await command.run(context, rest)


def find(line: str) -> tuple[Command, str] | None:
    """The command of the longest matching words, and the text behind them."""
    words = line.split()
    for length in range(min(LONGEST, len(words)), 0, -1):
        command = COMMANDS.get(tuple(word.lower() for word in words[:length]))
        if command is not None:
            return command, _behind(line, length)
    return None


def _behind(line: str, words: int) -> str:
    parts = line.split(maxsplit=words)
    return parts[words] if len(parts) > words else ""
