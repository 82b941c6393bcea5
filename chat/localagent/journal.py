"""A file of JSON lines that is only ever appended to: what was written survives a `kill -9`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from .wire import Json, to_json


class Journal:
    """One append-only file of JSON objects, opened when first written to.

    Every `append` is one write to the operating system, so a killed process loses nothing that it
    had acknowledged. A last line cut short by a crash is dropped by `load`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def load(self) -> list[dict[str, Json]]:
        """All whole entries in order; a broken file gives those that can be read, or none."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(self._path, whole)
        return list(_entries(data[:whole]))

    def append(self, entry: dict[str, Json]) -> None:
        """Write one entry."""
        if self._fd is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        rest = memoryview(to_json(entry).encode() + b"\n")
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def clear(self) -> None:
        """Forget every entry, on disk too."""
        self.close()
        if self._path.exists():
            os.truncate(self._path, 0)

    def remove(self) -> None:
        """Delete the file."""
        self.close()
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file; a later `append` opens it again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _entries(data: bytes) -> Iterator[dict[str, Json]]:
    for line in data.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry
