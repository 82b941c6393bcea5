"""A site of one or two processes with the waits of a real one, for measurements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.crowd import allow_many_files
from tests.survival.cluster import Cluster, MakeCluster, clusters
from tests.survival.stock import Stock

USUAL_WAITS = {
    "OWNER_TTL_S": "6",
    "SESSION_CHECK_S": "30",
    "AGENT_CONNECT_TIMEOUT_S": "10",
    "AGENT_INVOKE_TIMEOUT_S": "30",
    "AGENT_PING_INTERVAL_S": "20",
    "LINK_LINGER_S": "300",
}


@pytest.fixture
def make_cluster(tmp_path: Path, static_root: Path, stock: Stock) -> Iterator[MakeCluster]:
    """Ends with the test, so that nothing runs beside the next."""
    allow_many_files()
    with clusters(tmp_path, static_root, stock) as make:

        def with_usual_waits(
            agent_url: str, /, *, sqlite: bool = False, **settings: Any
        ) -> Cluster:
            where = {"DATABASE_URL": "", "REDIS_URL": ""} if sqlite else {}
            return make(agent_url, **{"count": 1, **USUAL_WAITS, **where, **settings})

        yield with_usual_waits
