"""A SQLite database is set up for readers and writers at the same time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection, connections
from django.db.backends.sqlite3.base import DatabaseWrapper

pytestmark = pytest.mark.django_db


@pytest.fixture
def wrapper(tmp_path: Path) -> Iterator[DatabaseWrapper]:
    """A connection to a new file, with the site's options."""
    if connection.vendor != "sqlite":
        pytest.skip("these tests run on another database")
    wrapper = DatabaseWrapper(
        {**connections["default"].settings_dict, "NAME": str(tmp_path / "new.sqlite3")}, "new"
    )
    yield wrapper
    wrapper.close()


def journal_mode(path: str) -> str:
    reader = sqlite3.connect(path)
    try:
        return str(reader.execute("PRAGMA journal_mode").fetchone()[0])
    finally:
        reader.close()


def test_a_new_file_gets_a_write_ahead_log(wrapper: DatabaseWrapper) -> None:
    wrapper.ensure_connection()
    assert journal_mode(wrapper.settings_dict["NAME"]) == "wal"


def test_a_connection_while_another_writes_waits_for_nothing(wrapper: DatabaseWrapper) -> None:
    wrapper.ensure_connection()
    wrapper.close()
    writer = sqlite3.connect(wrapper.settings_dict["NAME"], isolation_level=None)
    try:
        writer.execute("BEGIN EXCLUSIVE")
        wrapper.settings_dict["OPTIONS"] = {**wrapper.settings_dict["OPTIONS"], "timeout": 0}
        with wrapper.cursor() as cursor:
            cursor.execute("SELECT 1")
            assert cursor.fetchone() == (1,)
    finally:
        writer.close()


def test_a_file_that_another_process_sets_up_right_now_is_used_as_it_is(
    wrapper: DatabaseWrapper,
) -> None:
    writer = sqlite3.connect(wrapper.settings_dict["NAME"], isolation_level=None)
    try:
        writer.execute("CREATE TABLE t (x)")
        writer.execute("BEGIN IMMEDIATE")
        wrapper.settings_dict["OPTIONS"] = {**wrapper.settings_dict["OPTIONS"], "timeout": 0}
        wrapper.ensure_connection()
        with wrapper.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM t")
            assert cursor.fetchone() == (0,)
    finally:
        writer.close()


def test_it_waits_for_a_lock_and_begins_transactions_as_a_writer(wrapper: DatabaseWrapper) -> None:
    wrapper.ensure_connection()
    assert vars(wrapper)["transaction_mode"] == "IMMEDIATE"
    with wrapper.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone() == (20_000,)
        cursor.execute("PRAGMA synchronous")
        assert cursor.fetchone() == (1,)
