"""Refuses a secret key that can be guessed; makes one and keeps it in the site's data folder where
none was given; and names the site by its key.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

MIN_LENGTH = 32  # characters
MIN_DISTINCT = 5  # characters
MADE_FOR_DEVELOPMENT = "django-insecure-"


def strong(key: str, *, debug: bool) -> str:
    """The key, which may be empty. Raises ImproperlyConfigured for one with which anybody could
    sign a log-in of their own; for development on one machine any will do.
    """
    weak = len(key) < MIN_LENGTH or len(set(key)) < MIN_DISTINCT
    if key and not debug and (weak or key.startswith(MADE_FOR_DEVELOPMENT)):
        raise ImproperlyConfigured(
            f"SECRET_KEY must be {MIN_LENGTH} random characters at least. One is made by: "
            "python -c 'import secrets; print(secrets.token_urlsafe(50))'"
        )
    return key


def kept_secret_key(path: Path) -> str:
    """The key in that file, which is made (mode 0600) where it is missing."""
    try:
        if not path.is_file():
            _write_once(path, get_random_secret_key())
        key = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"SECRET_KEY is not set and none can be kept in SITE_DATA: {error.strerror}."
        ) from None
    if not key:
        raise ImproperlyConfigured("SECRET_KEY is not set and the one kept in SITE_DATA is empty.")
    return key


def public_name(key: str) -> str:
    """The same for all processes of a site, another one for each site; tells nothing of the key."""
    return "chat-" + hashlib.blake2b(b"public name", key=key.encode()[:64]).hexdigest()[:16]


def _write_once(path: Path, key: str) -> None:
    # Written whole under another name and then linked, so that of two processes that start
    # together one wins and neither reads half a key. mkstemp makes the file 0600.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".secret-key-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(key + "\n")
        os.link(name, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(name)
