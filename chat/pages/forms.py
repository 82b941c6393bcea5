"""What a browser may send, checked before anything is stored."""

from __future__ import annotations

import re

from django import forms
from django.conf import settings

from chat.display.content import clean_text

CLIENT_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class MessageForm(forms.Form):
    """A message and the id that its page gave it."""

    text = forms.CharField(
        strip=False, required=False, error_messages={"required": "Write something first."}
    )
    client_id = forms.CharField(max_length=64, required=False)

    def clean_text(self) -> str:
        """Kept as typed, but for what no database or peer can hold (see C59)."""
        text = clean_text(self.data.get("text") or "").replace("\r\n", "\n")
        if not text.strip():
            raise forms.ValidationError("Write something first.")
        size = len(text.encode())
        limit: int = settings.CHAT_TEXT_LIMIT_BYTES
        if size > limit:
            raise forms.ValidationError(
                f"This message has {size / 1000:,.1f} kB. A message can have {limit / 1000:g} kB"
                " at most. Nothing was sent; your text is still here."
            )
        return text

    def clean_client_id(self) -> str:
        value: str = self.cleaned_data["client_id"]
        if value and not CLIENT_ID.match(value):
            raise forms.ValidationError("The page is out of date. Reload it.")
        return value

    @property
    def problem(self) -> str:
        """The first thing that is wrong, as a sentence."""
        for errors in self.errors.values():
            return str(errors[0])
        return ""
