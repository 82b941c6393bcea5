"""A running embedded agent-server that does not take its time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chat.localagent import LocalAgent, Settings

QUICK = Settings(pace=0.01, word_delay_s=0, coalesce_s=0.01)


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[LocalAgent]:
    """One with an empty data directory."""
    async with LocalAgent(tmp_path, QUICK).serving() as server:
        yield server
