"""Reads the TypeScript in which a client agent describes its actions: just the part in use.

An action is a type with an `actionName` literal and maybe an object `parameters` (WIRE.md 9).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .wire import Json, WireError

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
TYPE = re.compile(
    r"(?P<comment>(?:^[ \t]*//[^\n]*\n)*)^[ \t]*(?:export\s+)?(?:type|interface)\s+"
    r"(?P<name>\w+)\s*=?\s*(?P<body>[^;{]*;|\{)",
    re.MULTILINE,
)
ACTION_NAME = re.compile(r"\bactionName\s*:\s*[\"']([^\"']+)[\"']")
PARAMETERS = re.compile(r"\bparameters\s*(\?)?\s*:\s*\{")
PROPERTY = re.compile(r"(\w+)\s*(\?)?\s*:")


@dataclass(frozen=True, slots=True)
class Action:
    """One action: what it is for, and which parameters it must have."""

    name: str
    description: str
    required: tuple[str, ...]
    takes_parameters: bool

    def check(self, parameters: Json) -> None:
        """Raises WireError for a missing parameter, in the real server's words."""
        if not self.takes_parameters:
            return
        given = parameters if isinstance(parameters, dict) else {}
        for name in self.required:
            if name not in given:
                raise WireError(f"Missing required property 'parameters.{name}'")


@dataclass(frozen=True, slots=True)
class Schema:
    """The actions of one agent by name, and its source text."""

    text: str
    actions: dict[str, Action]


def parse_schema(agent: str, manifest_schema: Json) -> Schema:
    """The schema of a manifest. Raises WireError, as the real server does when it is first used."""
    if not isinstance(manifest_schema, dict):
        raise WireError(f"Invalid schema name {agent}")
    file, wanted = manifest_schema.get("schemaFile"), manifest_schema.get("schemaType")
    if file is None:
        raise WireError("Cannot read properties of undefined (reading 'format')")
    if not isinstance(file, dict):
        raise WireError("ENOENT: no such file or directory")
    source = str(file.get("content", ""))
    types = _types(source)
    if not types:
        raise WireError(f"Error parsing schema '{agent}': Type '' not found")
    if wanted not in types:
        raise WireError(f"Error parsing schema '{agent}': Action type '{wanted}' not found")
    actions = [a for comment, body in types.values() if (a := _action(comment, body))]
    return Schema(source, {action.name: action for action in actions})


def _types(source: str) -> dict[str, tuple[str, str]]:
    """Each type's comment and body; a type without a body is not one."""
    found: dict[str, tuple[str, str]] = {}
    for match in TYPE.finditer(source):
        body = match["body"]
        if body == "{":
            body = _braced(source, match.end() - 1)
        if body.strip(" ;\n"):
            found[match["name"]] = (_prose(match["comment"]), body)
    return found


def _action(comment: str, body: str) -> Action | None:
    name = ACTION_NAME.search(body)
    if name is None:
        return None
    bare = COMMENT.sub("", body)
    parameters = PARAMETERS.search(bare)
    inner = _braced(bare, parameters.end() - 1)[1:-1] if parameters else ""
    required = tuple(m[1] for m in PROPERTY.finditer(_top_level(inner)) if not m[2])
    return Action(name[1], comment, required, parameters is not None)


def _braced(text: str, start: int) -> str:
    """From an opening brace to its closing one; to the end if there is none."""
    depth = 0
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[start : position + 1]
    return text[start:]


def _top_level(text: str) -> str:
    """Without what is nested in braces."""
    depth, kept = 0, []
    for char in text:
        depth -= char == "}"
        if depth == 0:
            kept.append(char)
        depth += char == "{"
    return "".join(kept)


def _prose(comment: str) -> str:
    lines = [line.strip().removeprefix("//").strip() for line in comment.splitlines()]
    return " ".join(line for line in lines if line)
