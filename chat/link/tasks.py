"""Tasks that outlive their caller: kept from the garbage collector, with their faults logged."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Coroutine
from typing import Any

import structlog
from structlog.contextvars import bind_contextvars, get_contextvars

log = structlog.get_logger(__name__)

_running: set[asyncio.Task[Any]] = set()


def spawn[T](
    work: Coroutine[Any, Any, T], *, name: str, conversation: int | None = None
) -> asyncio.Task[T]:
    """Start `work` in a fresh context: a task must not carry the page's request along, but only
    for which conversation it works, given or inherited: its log lines say that.

    The reference is kept until it ends (see C61); a fault is logged with `name`.
    """
    context = contextvars.Context()
    if conversation is None:
        conversation = get_contextvars().get("conversation")
    if conversation is not None:
        context.run(bind_contextvars, conversation=conversation)
    task = asyncio.get_running_loop().create_task(work, name=name, context=context)
    _running.add(task)
    task.add_done_callback(_done, context=context)
    return task


async def tolerantly(work: Awaitable[object], what: str) -> None:
    """Do what may fail: a fault here is worth a line, not more, for whoever asked asks again."""
    try:
        await work
    except Exception as error:
        log.warning("not done", what=what, error=type(error).__name__)


async def cancelled(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task and wait for its end."""
    if task is None or task.done():
        return
    task.cancel()
    await asyncio.wait([task])


def _done(task: asyncio.Task[Any]) -> None:
    _running.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("task failed", task=task.get_name(), exc_info=error)
