"""A connection to PostgreSQL ends soon when the network does."""

from __future__ import annotations

import os
import runpy
import socket
from pathlib import Path

import psycopg
import pytest

from chatsite import logs
from tests.processes import ROOT


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system has no such limit")
def test_a_network_that_drops_everything_is_noticed_within_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITE_DATA", str(tmp_path))
    monkeypatch.setattr(logs, "configure", lambda **_: {})
    monkeypatch.setenv("DATABASE_URL", "postgres://root@127.0.0.1:5432/postgres")
    options = runpy.run_path(str(ROOT / "chatsite" / "settings.py"))["DATABASES"]["default"][
        "OPTIONS"
    ]
    del options["pool"]
    try:
        connection = psycopg.connect("host=127.0.0.1 user=root dbname=postgres", **options)
    except psycopg.OperationalError as error:
        pytest.skip(f"no PostgreSQL to use: {error}")
    with connection, socket.socket(fileno=os.dup(connection.fileno())) as line:
        tcp = socket.IPPROTO_TCP
        assert line.getsockopt(tcp, socket.TCP_USER_TIMEOUT) == 10_000
        assert line.getsockopt(tcp, socket.TCP_KEEPIDLE) == 10
        assert line.getsockopt(tcp, socket.TCP_KEEPINTVL) == 5
        assert line.getsockopt(tcp, socket.TCP_KEEPCNT) == 2
