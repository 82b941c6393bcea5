"""What a client may offer while a command is typed (`getCommandCompletion`, WIRE.md 5)."""

from __future__ import annotations

from .commands import COMMANDS
from .commands.demo import DEMOS
from .commands.responder import OPENINGS
from .commands.shows import SHOWS
from .wire import Json

AGENT_NAMES = ["dispatcher", "system", "demo", "test"]


def complete(prefix: Json) -> dict[str, Json]:
    """Completions for the text typed so far."""
    typed = prefix if isinstance(prefix, str) else ""
    if not typed.startswith("@"):
        groups = [_group("Request Completions", list(OPENINGS)), _group("Command Prefixes", ["@"])]
        return _completions(0, groups, closed=False)
    words = typed[1:].split()
    if typed.endswith(" ") and words:
        kinds = {("demo",): DEMOS, ("test", "show"): SHOWS}.get(tuple(words))
        if kinds is not None:
            return _completions(len(typed), [_group("kind", list(kinds))], closed=False)
        below = _next_words(tuple(words))
        if below:
            return _completions(len(typed), [_group("Subcommands", below)])
    names = _group("Agent Names", AGENT_NAMES)
    return _completions(1, [_group("Subcommands", _next_words(())), names])


def _next_words(words: tuple[str, ...]) -> list[str]:
    depth = len(words)
    rows = [w for w in COMMANDS if len(w) > depth and w[:depth] == words]
    return list(dict.fromkeys(row[depth] for row in rows))


def _group(name: str, completions: list[str]) -> dict[str, Json]:
    return {"name": name, "completions": completions, "separatorMode": "optionalSpace"}


def _completions(start: int, groups: list[Json], *, closed: bool = True) -> dict[str, Json]:
    return {
        "startIndex": start,
        "completions": groups,
        "closedSet": closed,
        "directionSensitive": False,
        "afterWildcard": "none",
    }
