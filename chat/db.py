"""Database work from the event loop: one bounded pool of threads, and nothing else.

Plain `sync_to_async` would run everything on one thread and leave stale connections behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

from django.db import close_old_connections, connection, connections

DB_THREADS = 4

_pool = ThreadPoolExecutor(DB_THREADS, thread_name_prefix="chat-db")
_asking = ThreadPoolExecutor(1, thread_name_prefix="chat-db-asking")


async def in_db[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in the pool and give its result. A cancelled caller does not stop the work."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_pool, partial(_with_fresh_connection, work, args, kwargs))


async def ask_database() -> None:
    """Have the database answer something that needs no row, or raise what is wrong with it.

    In a thread of its own: whether the database answers can be asked while all others wait.
    """
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(_asking, partial(_with_fresh_connection, _select_one, (), {}))


def close_pool_connections() -> None:
    """Close what the pool's threads hold open; only for the end of a process or of a test."""
    together = Barrier(DB_THREADS, timeout=30)

    def close() -> None:
        together.wait()
        connections.close_all()

    for done in [_pool.submit(close) for _ in range(DB_THREADS)]:
        done.result()


def _select_one() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _with_fresh_connection[T](
    work: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> T:
    close_old_connections()
    try:
        return work(*args, **kwargs)
    finally:
        close_old_connections()
