"""Reads a typed answer to a question: yes or no, or the number of a choice. Pure."""

from __future__ import annotations

MAX_DIGITS = 9  # more digits than any list of choices has; Python refuses to read very long ones

_YES_NO = {"y": True, "yes": True, "n": False, "no": False}


def parse_yes_no(text: str) -> bool | None:
    """`True` or `False` for y, yes, n and no in any case; `None` for what is not an answer."""
    return _YES_NO.get(text.strip().lower())


def parse_choice_index(text: str, option_count: int) -> int | None:
    """The zero-based choice for a typed one-based number; `None` for what is not an answer."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS):
        return None
    index = int(digits) - 1
    return index if 0 <= index < option_count else None
