"""The embedded agent-server: a faithful stand-in for TypeAgent's, for a first run and for tests.

Speaks WIRE.md over a real WebSocket and keeps its conversations on disk. No Django in here.
"""

from __future__ import annotations

from .demotext import demo_text
from .server import LocalAgent
from .settings import Settings

__all__ = ["LocalAgent", "Settings", "demo_text"]
