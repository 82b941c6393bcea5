"""Reads settings from environment variables: a wrong value is refused with the variable's name.

An empty variable counts as not set. Every name that is read is noted in `READ`, by which a test
holds the README's table true. Messages never repeat a value that may be secret.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

READ: dict[str, str] = {}
"""Each name that was asked for, with its default as the README shows it."""

TRUE = ("true", "1", "yes", "on")
FALSE = ("false", "0", "no", "off")


def text(name: str, default: str = "") -> str:
    """A plain text."""
    READ[name] = default
    return os.environ.get(name, "").strip() or default


def boolean(name: str, *, default: bool = False) -> bool:
    """A yes or no, in one of the usual spellings and in no other."""
    value = text(name, "true" if default else "false").lower()
    if value not in TRUE + FALSE:
        raise ImproperlyConfigured(f"{name} must be true or false, not {value!r}.")
    return value in TRUE


def one_of(name: str, default: str, choices: Sequence[str]) -> str:
    """One of a few words, in capitals or not."""
    value = text(name, default)
    for choice in choices:
        if choice.lower() == value.lower():
            return choice
    raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}.")


def integer(name: str, default: int, *, minimum: int, maximum: int) -> int:
    """A whole number within bounds, both included."""
    value = text(name, str(default))
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from None
    if not minimum <= number <= maximum:
        raise ImproperlyConfigured(f"{name} must be between {minimum} and {maximum}, not {number}.")
    return number


def seconds(name: str, default: float, *, minimum: float, maximum: float) -> float:
    """A time in seconds within bounds, both included."""
    value = text(name, f"{default:g}")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not minimum <= number <= maximum:
        raise ImproperlyConfigured(
            f"{name} must be a number of seconds between {minimum:g} and {maximum:g}, "
            f"not {value!r}."
        )
    return number


def names(name: str, default: str = "") -> list[str]:
    """A list of words with commas between them."""
    return [item.strip() for item in text(name, default).split(",") if item.strip()]


def origins(name: str) -> list[str]:
    """A list of origins, each with its scheme: `https://chat.example.org`."""
    found = names(name)
    for item in found:
        parts = urlsplit(item)
        if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path:
            raise ImproperlyConfigured(
                f"{name} must list origins like https://chat.example.org, not {item!r}."
            )
    return found


def secret(name: str) -> str:
    """A secret, from NAME or from the file that NAME_FILE names; "" when neither is set."""
    READ[name] = ""
    READ[f"{name}_FILE"] = ""
    value = os.environ.get(name, "").strip()
    path = os.environ.get(f"{name}_FILE", "").strip()
    if not path:
        return value
    if value:
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set: set one of them.")
    try:
        value = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ImproperlyConfigured(f"{name}_FILE names a file that cannot be read: {reason}.")  # noqa: B904
    if not value:
        raise ImproperlyConfigured(f"{name}_FILE names a file that is empty.")
    return value


def directory(name: str, default: Path, *, shown: str) -> Path:
    """A folder, made where it is missing, for the eyes of this user only."""
    path = Path(text(name) or default).absolute()
    READ[name] = shown
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name} must be a folder that can be made and written to: {error.strerror}."
        ) from None
    return path


def websocket_url(name: str) -> str:
    """The address of a WebSocket, `ws://` or `wss://`; "" when not set."""
    value = text(name)
    if value and not _is_url(value, {"ws", "wss"}):
        raise ImproperlyConfigured(
            f"{name} must be an address like ws://127.0.0.1:8999 or wss://example.org."
        )
    return value


def redis_url(name: str) -> str:
    """The address of a Redis server, which may hold a password; "" when not set."""
    value = secret(name)
    if value and not _is_url(value, {"redis", "rediss"}):
        raise ImproperlyConfigured(f"{name} must be an address like redis://127.0.0.1:6379/0.")
    return value


def database(name: str, default: Path, *, shown: str) -> dict[str, Any]:
    """Django's description of the database that a URL names; a SQLite file when not set."""
    value = secret(name)
    READ[name] = shown
    if not value:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(default)}
    wrong = ImproperlyConfigured(
        f"{name} must be an address like postgres://user:password@host/name "
        "or sqlite:////folder/file."
    )
    scheme = value.partition("://")[0]
    if scheme not in {"sqlite", "postgres", "postgresql"} or "://" not in value:
        raise wrong
    try:
        config: dict[str, Any] = environ.Env.db_url_config(value)
    except (ValueError, Warning):
        raise wrong from None
    # A SQLite database in memory would be another one for each thread.
    if config["NAME"] in {"", ":memory:"}:
        raise wrong
    return config


def _is_url(value: str, schemes: set[str]) -> bool:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return False
    plain = value.isascii() and value.isprintable() and " " not in value
    return plain and parts.scheme in schemes and bool(parts.hostname) and port != 0
