"""Agents that a client hosts in one conversation (WIRE.md 9)."""

from __future__ import annotations

from .wire import Json


class AgentHost:
    """The client agents of one conversation by name."""

    def icon(self, name: str) -> str:
        """The emoji of a client agent; empty for any other name."""
        return ""

    def status(self) -> dict[str, Json]:
        return {"agents": [], "details": ""}

    def schemas(self, name: Json) -> list[Json]:
        return []
