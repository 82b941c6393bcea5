"""Running an action of a client agent."""

from __future__ import annotations

from .table import Table

COMMANDS: Table = {}
