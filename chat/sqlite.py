"""Puts a SQLite database into WAL mode, so that readers and a writer do not wait for each other.

The mode is kept in the file. Setting it again on every connection can itself meet a lock (C58), so
it is only set where it is not yet.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver


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
