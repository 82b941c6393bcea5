"""A wall clock that a test steps while the site runs: for Python, for Django and for SQLite.

The steady clock, by which processes wait, goes on, as it does when a machine's clock is set.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

VARIABLE = "TEST_CLOCK"


class Clock:
    """`step` is for the test; the site reads the file at every look at the clock."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.offset_s = 0.0
        self.step(0)

    def step(self, seconds: float) -> None:
        """From now on the clock says this much more than before."""
        self.offset_s += seconds
        fresh = self._file.with_suffix(".new")
        fresh.write_text(f"{self.offset_s}", encoding="ascii")
        fresh.replace(self._file)


def install() -> None:
    """In a process of the site, before anything looks at the clock."""
    from django.db.backends.signals import connection_created
    from django.utils import timezone

    file, right = Path(os.environ[VARIABLE]), time.time

    def stepped() -> float:
        return right() + float(file.read_text(encoding="ascii"))

    def now() -> datetime:
        return datetime.fromtimestamp(stepped(), UTC)

    time.time = stepped
    timezone.now = now
    connection_created.connect(_for_sqlite(now), weak=False)


def _for_sqlite(now: Callable[[], datetime]) -> Callable[..., None]:
    def strftime(form: str, when: str) -> str:
        assert when.lower() == "now"
        at = now()
        return at.strftime(form.replace("%f", f"%S.{at.microsecond // 1000:03d}"))

    def created(connection: Any, **_kwargs: Any) -> None:
        if connection.vendor == "sqlite":
            connection.connection.create_function("strftime", 2, strftime)

    return created
