"""How the site logs: one line an event on stderr, never with a secret in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

QUIET = ("asyncio", "axes", "daphne", "django.channels", "httpx", "websockets")
"""Loggers whose everyday news say nothing to who runs the site."""

LOGIN_TOKEN = re.compile(r"(sesame=)[^\s&'\"]+")


class HideSecrets:
    """Takes secrets and one-time links out of everything that is logged."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = [secret for secret in secrets if secret]

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        return {key: self._clean(value) for key, value in event.items()}

    def _clean(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        for secret in self._secrets:
            value = value.replace(secret, "[secret]")
        return LOGIN_TOKEN.sub(r"\1[secret]", value)


def configure(*, debug: bool, secrets: Sequence[str]) -> dict[str, Any]:
    """Sets up structlog, and returns Django's LOGGING that renders everyone's lines the same."""
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
        structlog.processors.format_exc_info,
        HideSecrets(secrets),
        structlog.dev.ConsoleRenderer(colors=False)
        if debug
        else structlog.processors.KeyValueRenderer(
            key_order=["timestamp", "level", "event", "logger"]
        ),
    ]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": shared,
                "processors": finish,
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django": {"handlers": [], "level": "INFO", "propagate": True},
            "django.server": {"handlers": [], "level": "INFO", "propagate": True},
            **{name: {"level": "WARNING"} for name in QUIET},
        },
    }
