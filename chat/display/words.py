"""Words out of whatever came: fit for every database, and of any JSON a line of text. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

type Json = Any

_UNSAFE = re.compile("[\x00\r\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Text that every database and encoder takes: the one choke point for it (C59).

    NUL goes, a lone half of a surrogate pair becomes U+FFFD, and every line ends with a newline.
    """
    if not _UNSAFE.search(text):
        return text
    # A pair that came as two halves is one character, not two broken ones.
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\x00", "").replace("\r\n", "\n").removesuffix("\r").replace("\r", "\n")


def as_text(value: Json) -> str:
    """A line or cell: content as well, by the same rules as far as it makes sense."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Mapping):
        inner = value.get("content", value.get("text"))
        if isinstance(inner, str):
            return inner
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return "…"
