"""Waiting for what happens in another task, without guessing how long it takes."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from tests.processes import PATIENCE_S

LOOK_EVERY_S = 0.005


async def until(condition: Callable[[], Any], what: str = "") -> Any:
    """The first true value of the condition, which may also be asynchronous."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = condition()
                value = await found if inspect.isawaitable(found) else found
                if value:
                    return value
                await asyncio.sleep(LOOK_EVERY_S)
    except TimeoutError:
        raise AssertionError(f"never happened: {what or inspect.getsource(condition)}") from None
