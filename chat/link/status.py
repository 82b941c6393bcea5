"""The state of a link in words: for pages, for the admin, for logs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TypedDict

from chat.models import LinkState


class PageConnection(TypedDict):
    """What the connection partial shows."""

    state: str
    text: str
    retry_in: int
    can_retry: bool


@dataclass(frozen=True, slots=True)
class Status:
    """Where the link is, the last error, and when it tries again (`time.monotonic`)."""

    state: LinkState = LinkState.CLOSED
    error: str = ""
    retry_at: float = 0

    def for_page(self) -> PageConnection:
        """The words of the header. The page counts the seconds down by itself."""
        state, text = _WORDS[self.state]
        if self.error and state != "connected":
            text = self.error
        return PageConnection(
            state=state,
            text=text,
            retry_in=max(0, round(self.retry_at - time.monotonic())) if self.retry_at else 0,
            can_retry=state in ("reconnecting", "error"),
        )


UNOWNED = Status(LinkState.CONNECTING, "Waiting for the site's relay")
"""No process is there that may own a conversation. What is sent is stored meanwhile."""

UNANSWERED = Status(LinkState.CONNECTING, "No live updates at the moment")
"""The owner lives, or lived a moment ago, and does not answer."""

_WORDS = {
    LinkState.CLOSED: ("connecting", "Connecting…"),
    LinkState.CONNECTING: ("connecting", "Connecting…"),
    LinkState.JOINING: ("connecting", "Connecting…"),
    LinkState.JOINED: ("connected", "Connected"),
    LinkState.LOST: ("reconnecting", "Agent-server unreachable"),
    LinkState.STOPPED: ("error", "Not connected"),
    LinkState.CLOSING: ("connecting", "Connecting…"),
}
