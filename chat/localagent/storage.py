"""The small files that a client agent may keep here while it is registered (WIRE.md 9)."""

from __future__ import annotations

from .wire import Json, WireError


class AgentStorage:
    """Files of one agent in memory: those of its session and those of its instance."""

    def __init__(self) -> None:
        self._files: dict[tuple[bool, str], Json] = {}

    def write(self, given: dict[str, Json]) -> None:
        """`storageWrite`."""
        self._files[_key(given)] = given.get("data")

    def read(self, given: dict[str, Json]) -> Json:
        """`storageRead`. Raises WireError for a file that is not there."""
        key = _key(given)
        if key not in self._files:
            raise WireError(f"ENOENT: no such file or directory, open '{key[1]}'")
        return self._files[key]

    def list(self, given: dict[str, Json]) -> list[str]:
        """`storageList`: the names below a path."""
        session, prefix = _key(given)
        return [p for s, p in self._files if s == session and p.startswith(prefix)]


def _key(given: dict[str, Json]) -> tuple[bool, str]:
    return given.get("session") is True, str(given.get("storagePath", ""))
