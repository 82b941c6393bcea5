"""The display log of one conversation: what `getDisplayHistory` gives back (WIRE.md 8)."""

from __future__ import annotations

import time
from pathlib import Path

from .journal import Journal
from .wire import UNDEFINED, Json


class DisplayLog:
    """Entries numbered by `seq` from 0, in memory while the conversation is loaded, and on disk."""

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self.entries: list[dict[str, Json]] = self._journal.load()
        last = self.entries[-1].get("seq") if self.entries else None
        self._next_seq = last + 1 if isinstance(last, int) else len(self.entries)

    def add(self, kind: str, fields: dict[str, Json]) -> dict[str, Json]:
        """Log one entry and return it."""
        entry: dict[str, Json] = {
            "type": kind,
            "seq": self._next_seq,
            "timestamp": int(time.time() * 1000),
        }
        entry.update(fields)
        self._next_seq += 1
        self._journal.append(entry)
        self.entries.append(entry)
        return entry

    def after(self, after_seq: Json = UNDEFINED) -> list[dict[str, Json]]:
        """Entries with a greater `seq`, compared as JavaScript does: `null` is 0, junk is none."""
        if after_seq is UNDEFINED:
            return self.entries
        limit = _js_number(after_seq)
        return self.entries if limit is None else [e for e in self.entries if e["seq"] > limit]

    def clear(self) -> None:
        """Empty the log; `seq` starts at 0 again."""
        self._journal.clear()
        self.entries = []
        self._next_seq = 0

    def remove(self) -> None:
        """Delete the log from disk."""
        self._journal.remove()

    def close(self) -> None:
        """Let go of the file."""
        self._journal.close()


def _js_number(value: Json) -> float | None:
    if value is None:
        return 0
    if isinstance(value, (bool, int, float)):
        return float(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
