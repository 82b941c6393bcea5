"""What a browser may send, checked before anything is stored."""

from __future__ import annotations

import re
from math import ceil

from django import forms
from django.conf import settings

from chat.display.words import clean_text

CLIENT_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class MessageForm(forms.Form):
    """A message and the id that its page gave it."""

    # Plain fields: a `CharField` refuses a NUL, which is to be taken out instead (see C59).
    text = forms.Field(required=False)
    client_id = forms.Field(required=False)

    def clean_text(self) -> str:
        """Kept as typed, but for what no database or peer can hold (see C59)."""
        text = one_newline(clean_text(self.data.get("text") or ""))
        if not text.strip():
            raise forms.ValidationError("Write something first.")
        used = len(text.encode())
        limit: int = settings.CHAT_TEXT_LIMIT_BYTES
        if used > limit:
            raise forms.ValidationError(
                f"This message has {size(used)}. A message can have {limit / 1000:g} kB at most."
                " Nothing was sent; your text is still here."
            )
        return text

    def clean_client_id(self) -> str:
        value: str = self.data.get("client_id") or ""
        if value and not CLIENT_ID.match(value):
            raise forms.ValidationError("The page is out of date. Reload it.")
        return value

    @property
    def problem(self) -> str:
        """The first thing that is wrong, as a sentence."""
        return next((str(errors[0]) for errors in self.errors.values()), "")


def one_newline(text: str) -> str:
    """Browsers send every end of a line as CR and LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def size(used: int) -> str:
    """A number of bytes in words, rounded up: what is over a limit must not look like it."""
    return f"{ceil(used / 100) / 10:g} kB" if used < 1_000_000 else f"{ceil(used / 1e5) / 10:g} MB"
