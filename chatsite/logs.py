"""How the site logs: one line an event on stderr, never with a secret or a message's text in it."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from chatsite.traces import NoValues, summary, trace

FORMATS = ("text", "json")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

OWN = ("chat", "chatsite")
"""Loggers that say more at DEBUG. What libraries say there may be anything, a frame or a query."""
QUIET = ("asyncio", "axes", "daphne", "django.channels", "httpx", "websockets")
"""Loggers whose everyday news say nothing to who runs the site."""
SERVERS = ("django", "django.server", "uvicorn", "uvicorn.access", "uvicorn.error")
"""Loggers that come with handlers of their own, which know nothing of secrets."""

CREDENTIAL = re.compile(r"((?:sesame|sessionid|csrftoken|csrfmiddlewaretoken)=)[^\s&;,'\"]+")

FIRST_KEYS = ("timestamp", "level", "event", "logger")


class HideSecrets:
    """Takes secrets and one-time links out of everything that is logged."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = [secret for secret in secrets if secret]

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        return {key: self._clean(value) for key, value in event.items()}

    def _clean(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, BaseException):
            value = summary(value)
        value = str(value)
        for secret in self._secrets:
            value = value.replace(secret, "[secret]")
        return CREDENTIAL.sub(r"\1[secret]", value)


def configure(
    *, debug: bool, secrets: Sequence[str], form: str = "text", level: str = "INFO"
) -> dict[str, Any]:
    """Sets up structlog, and returns Django's LOGGING that renders everyone's lines the same.

    `form` is one of FORMATS, `level` one of LEVELS. With `debug` texts are made for a terminal.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    finish: list[Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.StackInfoRenderer(),
        structlog.processors.ExceptionRenderer(trace),
        HideSecrets(secrets),
        _renderer(form, debug=debug),
    ]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"no values": {"()": NoValues}},
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": shared,
                "processors": finish,
            }
        },
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "filters": ["no values"],
            }
        },
        "root": {"handlers": ["stderr"], "level": _at_least("INFO", level)},
        "loggers": {
            **{name: {"level": level} for name in OWN},
            **{name: {"handlers": [], "propagate": True} for name in SERVERS},
            **{name: {"level": _at_least("WARNING", level)} for name in QUIET},
        },
    }


def _renderer(form: str, *, debug: bool) -> Processor:
    if form == "json":
        return structlog.processors.JSONRenderer()
    if debug:
        return structlog.dev.ConsoleRenderer(
            colors=False, exception_formatter=structlog.dev.plain_traceback
        )
    return structlog.processors.KeyValueRenderer(key_order=FIRST_KEYS)


def _at_least(least: str, level: str) -> str:
    names = logging.getLevelNamesMapping()
    return max(least, level, key=names.__getitem__)
