"""Which conversations there are and what they are called, kept on disk (WIRE.md 4)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher
from pathlib import Path

from .journal import Journal
from .wire import UNDEFINED, Json, WireError

MAX_NAME_CHARS = 256
DEFAULT_NAME = "default"
FIND_THRESHOLD = 0.6
"""A name less alike than this is not found."""
NUMBERED = re.compile(r"^(.*?) \((\d+)\)$", re.DOTALL)


@dataclass(slots=True)
class Record:
    """One conversation of the catalogue."""

    id: str
    name: str
    created_at: str


class Catalogue:
    """The conversations, in the order in which they were made."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._journal = Journal(data / "conversations.jsonl")
        self._records: dict[str, Record] = {}
        for entry in self._journal.load():
            self._replay(entry)

    def __iter__(self) -> Iterator[Record]:
        return iter(list(self._records.values()))

    def get(self, conversation_id: Json) -> Record:
        """The record. Raises WireError `Conversation not found: <id>` (also for null and 5)."""
        record = self._records.get(conversation_id) if isinstance(conversation_id, str) else None
        if record is None:
            shown = "null" if conversation_id is None else conversation_id
            raise WireError(f"Conversation not found: {shown}")
        return record

    def default(self) -> Record:
        """The one named `default` in any case, else the first, else a new one."""
        records = list(self)
        named = [record for record in records if _key(record.name) == DEFAULT_NAME]
        return (named or records or [self.create(DEFAULT_NAME)])[0]

    def create(self, name: Json, collision: Json = None) -> Record:
        """A new conversation. Raises WireError for a bad or taken name."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record = Record(str(uuid.uuid4()), self._free_name(name, collision), now)
        self._write("create", record)
        return self.get(record.id)

    def rename(self, conversation_id: Json, name: Json, collision: Json = None) -> None:
        """Give a conversation another name; its own is always free for it."""
        record = self.get(conversation_id)
        free = self._free_name(name, collision, besides=record.id)
        self._write("rename", Record(record.id, free, record.created_at))

    def delete(self, conversation_id: Json) -> None:
        """Forget a conversation. Raises WireError for an unknown id."""
        self._write("delete", self.get(conversation_id))

    def matching(self, substring: Json) -> list[Record]:
        """Those whose name holds the substring, whatever the case; all for no substring."""
        if not isinstance(substring, str):
            return list(self)
        return [record for record in self if substring.lower() in record.name.lower()]

    def find(self, query: Json, limit: Json) -> list[tuple[Record, float]]:
        """Names like the query with a score up to 1, best first."""
        wanted = _key(query) if isinstance(query, str) else ""
        scored = [(record, _likeness(wanted, _key(record.name))) for record in self]
        best = sorted(
            ((record, score) for record, score in scored if score >= FIND_THRESHOLD),
            key=lambda pair: -pair[1],
        )
        return best[:limit] if isinstance(limit, int) else best

    def log_path(self, conversation_id: str) -> Path:
        """Where the display log of a conversation is kept."""
        return self._data / "logs" / f"{conversation_id}.jsonl"

    def close(self) -> None:
        """Let go of the file."""
        self._journal.close()

    def _free_name(self, name: Json, collision: Json, besides: str | None = None) -> str:
        text = _checked_name(name)
        if collision not in (None, UNDEFINED, "error", "appendNumber"):
            raise WireError(f"Unknown name collision behavior: {collision}")
        others = {_key(record.name): record.name for record in self if record.id != besides}
        if _key(text) not in others:
            return text
        if collision != "appendNumber":
            taken = f'A conversation named "{others[_key(text)]}" already exists.'
            raise WireError(f"{taken} Pick a different name.")
        base = _base(text.strip())
        numbers = [int(m[2]) for key in others if (m := NUMBERED.match(key)) and m[1] == _key(base)]
        return f"{base} ({max(numbers, default=0) + 1})"

    def _write(self, op: str, record: Record) -> None:
        entry = {"op": op, "id": record.id, "name": record.name, "createdAt": record.created_at}
        self._journal.append(entry)
        self._replay(entry)

    def _replay(self, entry: dict[str, Json]) -> None:
        record = Record(str(entry.get("id")), str(entry.get("name")), str(entry.get("createdAt")))
        if entry.get("op") == "delete":
            self._records.pop(record.id, None)
        elif entry.get("op") == "create" or record.id in self._records:
            self._records[record.id] = record


def _checked_name(name: Json) -> str:
    if name is UNDEFINED or name is None:
        shown = "undefined" if name is UNDEFINED else "null"
        raise WireError(f"Cannot read properties of {shown} (reading 'length')")
    if not isinstance(name, str):
        raise WireError("name.trim is not a function")
    if not 1 <= len(name) <= MAX_NAME_CHARS:
        raise WireError(f"Conversation name must be between 1 and {MAX_NAME_CHARS} characters")
    return name


def _key(name: str) -> str:
    return name.strip().lower()


def _base(name: str) -> str:
    numbered = NUMBERED.match(name)
    return numbered[1] if numbered else name


def _likeness(wanted: str, name: str) -> float:
    if wanted == name:
        return 1
    if wanted and name.startswith(wanted):
        return 0.9
    if wanted and wanted in name:
        return 0.8
    return round(SequenceMatcher(None, wanted, name).ratio(), 3)
