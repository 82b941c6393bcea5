"""The rows behave on PostgreSQL as they do on SQLite: the same tests, in a process of their own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from uuid import uuid4

import pytest

from tests.processes import ROOT

SERVER = ("127.0.0.1", 5432)
TESTS = [
    "tests/link/test_lease.py",
    "tests/link/test_owners.py",
    "tests/link/test_heartbeat.py",
    "tests/link/test_rejoin.py",
    "tests/link/test_rows.py",
    "tests/transcript/test_saving.py",
    "tests/transcript/test_store.py",
]


def answers() -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(SERVER) == 0


@pytest.mark.skipif(
    os.environ.get("CI") != "true" and not answers(), reason="no PostgreSQL on loopback"
)
def test_the_lease_and_the_fence_hold_on_postgresql() -> None:
    address = f"postgres://root@{SERVER[0]}:{SERVER[1]}/chat_{uuid4().hex[:12]}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--no-cov", *TESTS],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": address},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
