"""The form of a command table's rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chat.localagent.context import CommandContext

type Run = Callable[[CommandContext, str], Awaitable[None]]
"""Does the work; the text is what followed the command's words."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command: the agent it belongs to, its `setDisplayInfo` action, and what `@help` says."""

    source: str
    action: list[str] | None
    """`None` for a command that begins by itself, once it knows what it is."""
    run: Run
    help: str = ""


type Table = dict[tuple[str, ...], Command]
"""Commands by their words."""
