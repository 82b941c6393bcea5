"""Puts a SQLite database into WAL mode, so that readers and a writer do not wait for each other.

The mode is kept in the file. Setting it again on every connection can itself meet a lock (C58), so
it is only set where it is not yet. The write-ahead log goes with the last connection that is
closed, and is made anew by the next: a process that serves holds one open.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver

_held: list[BaseDatabaseWrapper] = []


def hold_open() -> None:
    """Keep a connection of its own open until `let_go`. Leaves other databases alone.

    May be called twice, and from any thread. Raises a database error if there is no database.
    """
    if connection.vendor != "sqlite" or _held:
        return
    held = connection.copy()
    held.ensure_connection()
    held.inc_thread_sharing()
    _held.append(held)


def let_go() -> None:
    """Close the connection that is held open, if there is one."""
    while _held:
        _held.pop().close()


@receiver(connection_created, dispatch_uid="chat.sqlite.use_wal")
def use_wal(connection: BaseDatabaseWrapper, **_kwargs: Any) -> None:
    """Sets WAL mode once for a file. Leaves other databases alone."""
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        if cursor.fetchone()[0] == "delete":
            # Another process that sets it at this moment is as good as we are.
            with suppress(OperationalError):
                cursor.execute("PRAGMA journal_mode=WAL")
