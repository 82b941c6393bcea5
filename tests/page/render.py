"""What the template tests share: a page and its parts, drawn from made-up bubbles."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

from django.template.loader import render_to_string

KEY = "a-key.1"


def bubble(**changes: Any) -> SimpleNamespace:
    """A finished reply; `changes` make it something else."""
    values: dict[str, Any] = {
        "uid": "u1",
        "role": "agent",
        "state": "final",
        "order": "000000000001.001",
        "request_id": "r1",
        "client_id": None,
        "source": "system",
        "source_icon": "",
        "html": "",
        "note": "",
        "can_retry": False,
        "working": False,
        "created_at": None,
    }
    return SimpleNamespace(**(values | changes))


def page_context(**changes: Any) -> dict[str, Any]:
    """What the view gives to a page of a conversation that is connected and at rest."""
    values: dict[str, Any] = {
        "conversation": SimpleNamespace(key=KEY, name="Trip"),
        "bubbles": [],
        "has_earlier": False,
        "earlier_url": "",
        "connection": {"state": "connected", "text": "", "retry_in": None, "can_retry": False},
        "running": False,
        "revision": 7,
        "text_limit": 20000,
        "max_messages": 200,
        "max_age_days": 30,
        "client_id": "c1",
        "draft": "",
        "error": "",
        "user": SimpleNamespace(pk=3, get_username="alice"),
        "csrf_token": "token",
        "csp_nonce": "nonce-1",
    }
    return values | changes


def page(**changes: Any) -> str:
    return render_to_string("chat/conversation.html", page_context(**changes))


def part(name: str, **context: Any) -> str:
    """A part as it is pushed: `message` or one of the page's others."""
    file = "_message" if name == "message" else "_parts"
    return render_to_string(f"chat/{file}.html#{name}", {"key": KEY, "oob": True} | context)


class Elements(HTMLParser):
    """Every element of a markup: its tag, and its attributes as written."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def with_attribute(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for _, attributes in self.found if name in attributes]

    def by_id(self, identity: str) -> dict[str, str | None]:
        (attributes,) = [a for _, a in self.found if a.get("id") == identity]
        return attributes


def text_of(markup: str) -> str:
    """The words between the tags, spaces folded."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", markup)).strip()
