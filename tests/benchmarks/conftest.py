"""A site of one or two processes with the waits of a real one, for measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.crowd import allow_many_files
from tests.survival.cluster import POSTGRES, REDIS, Cluster, Database, require

USUAL_WAITS = {
    "OWNER_TTL_S": "6",
    "SESSION_CHECK_S": "30",
    "AGENT_CONNECT_TIMEOUT_S": "10",
    "AGENT_INVOKE_TIMEOUT_S": "30",
    "AGENT_PING_INTERVAL_S": "20",
    "LINK_LINGER_S": "300",
}


@pytest.fixture
def make_cluster(tmp_path: Path, static_root: Path) -> Iterator[Callable[..., Cluster]]:
    """`make_cluster(agent_url, count=2)` on PostgreSQL and Redis, or `sqlite=True` on neither."""
    clusters: list[Cluster] = []
    databases: list[Database] = []
    allow_many_files()

    def make(agent_url: str, *, count: int = 1, sqlite: bool = False, **settings: Any) -> Cluster:
        where: dict[str, str] = {}
        if not sqlite:
            require("PostgreSQL", POSTGRES)
            require("Redis", REDIS)
            databases.append(Database())
            redis = f"redis://{REDIS[0]}:{REDIS[1]}/0"
            where = {"DATABASE_URL": databases[-1].url, "REDIS_URL": redis}
        cluster = Cluster(
            tmp_path / f"cluster{len(clusters)}",
            static_root,
            count=count,
            **{"TYPEAGENT_SERVER_URL": agent_url, **USUAL_WAITS, **where, **settings},
        )
        clusters.append(cluster)
        return cluster.start()

    yield make
    for cluster in clusters:
        cluster.close()
    for database in databases:
        database.drop()
