"""Tasks that outlive their caller: kept, free of its context, and with their faults told."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading

import pytest
from structlog.testing import capture_logs

from chat.db import DB_THREADS, in_db
from chat.link import tasks
from chat.link.tasks import cancelled, spawn, tolerantly
from tests.link.wait import until

asked_by: contextvars.ContextVar[str] = contextvars.ContextVar("asked_by", default="nobody")


async def test_c61_a_task_that_nobody_holds_runs_to_its_end() -> None:
    done = asyncio.Event()

    async def work() -> None:
        await asyncio.sleep(0.01)
        done.set()

    spawn(work(), name="work")
    gc.collect()
    async with asyncio.timeout(5):
        await done.wait()
    await until(lambda: not tasks._running)


async def test_c61_a_fault_is_told() -> None:
    async def work() -> None:
        raise ValueError("broken")

    with capture_logs() as logs:
        task = spawn(work(), name="the work")
        await asyncio.wait([task])
        await until(lambda: logs)
    assert [(entry["event"], entry["task"]) for entry in logs] == [("task failed", "the work")]


async def test_a_task_carries_nothing_of_who_asked() -> None:
    async def work() -> str:
        return asked_by.get()

    asked_by.set("a request")
    assert await spawn(work(), name="work") == "nobody"


async def test_cancelling_waits_for_the_end_and_may_be_done_twice() -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            ended.append(1)

    task = spawn(work(), name="work")
    await asyncio.sleep(0)
    await cancelled(task)
    await cancelled(task)
    await cancelled(None)
    assert ended == [1]


async def test_what_may_fail_is_a_line_in_the_log() -> None:
    async def work() -> None:
        raise OSError("away")

    with capture_logs() as logs:
        await tolerantly(work(), "the work")
    assert [(entry["what"], entry["error"]) for entry in logs] == [("the work", "OSError")]


@pytest.mark.django_db(transaction=True)
async def test_database_work_is_done_by_few_threads() -> None:
    names: set[str] = set()
    many = threading.Event()

    def work(number: int) -> int:
        names.add(threading.current_thread().name)
        many.wait(0.02)
        return number

    done = await asyncio.gather(*(in_db(work, number) for number in range(20)))
    assert done == list(range(20))
    assert 1 < len(names) <= DB_THREADS


@pytest.mark.django_db(transaction=True)
async def test_database_work_raises_to_its_caller() -> None:
    def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await in_db(work)
