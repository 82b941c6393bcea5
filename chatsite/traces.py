"""Tells of exceptions by their types and places alone.

Their messages hold what somebody wrote as often as not: the row that a database refused, the text
that an agent-server sent back.
"""

from __future__ import annotations

import copy
import logging
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

# What asyncio adds to its lines: the arguments of a callback, the exception of a task.
_ASYNCIO_DETAIL = re.compile(r"[<(\n]")


class NoValues(logging.Filter):
    """Lets every record through, with the types of exceptions in place of their messages."""

    def filter(self, record: logging.LogRecord) -> logging.LogRecord:
        """A changed copy: what other handlers write of the record is theirs."""
        record = copy.copy(record)
        if isinstance(record.msg, BaseException):
            record.exc_info = (type(record.msg), record.msg, record.msg.__traceback__)
        if isinstance(record.msg, dict):  # structlog's own
            return record
        if not isinstance(record.msg, str):
            record.msg, record.args = type(record.msg).__name__, ()
        elif record.name == "asyncio":
            record.msg, record.args = _ASYNCIO_DETAIL.split(record.getMessage())[0].strip(), ()
        elif record.msg.startswith("Traceback "):  # made by a library that was handling it
            record.msg, record.args, record.exc_info = "an exception", (), sys.exc_info()
        else:
            record.args = _without_exceptions(record.args)
        return record


def trace(exc_info: Any) -> str:
    """The chain of exceptions: where each was raised, and its type. Like Python's own trace, but
    without messages that may hold somebody's words.
    """
    return "\n".join(_lines(exc_info[1], set())) if exc_info[1] is not None else ""


def summary(error: BaseException) -> str:
    """The type of an exception, with what a system said of itself: a file, a socket, a database
    that cannot be had.
    """
    kind = type(error)
    said = ""
    if isinstance(error, OSError):
        said = error.strerror or ""
    # Django's, SQLite's and psycopg's. The lines after the first may hold rows.
    elif any(base.__name__ == "OperationalError" for base in kind.__mro__):
        said = next(iter(str(error).splitlines()), "")
    return f"{kind.__module__}.{kind.__qualname__}" + (f": {said}" if said else "")


def _lines(error: BaseException, seen: set[int]) -> Iterator[str]:
    seen.add(id(error))
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None and id(before) not in seen:
        yield from _lines(before, seen)
        yield "which led to:"
    yield "Traceback (most recent call last):"
    yield "".join(traceback.format_tb(error.__traceback__)).rstrip()
    yield summary(error)
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            if id(part) not in seen:
                yield "and in it:"
                yield from _lines(part, seen)


def _without_exceptions(args: Any) -> Any:
    if isinstance(args, Mapping):
        return {key: _named(value) for key, value in args.items()}
    return tuple(_named(value) for value in args) if isinstance(args, tuple) else args


def _named(value: object) -> object:
    return summary(value) if isinstance(value, BaseException) else value
