"""Splitting a command line as the real server does: quotes group, and are kept inside a word."""

from __future__ import annotations

import re

WORD = re.compile(r"'([^']*)'|\"([^\"]*)\"|(\S+)")


def split_words(line: str) -> list[str]:
    """The words of a line; one that begins with a quote ends at the next like it."""
    return [m[1] or m[2] or m[3] or "" for m in WORD.finditer(line)]
