"""What this site needs Daphne to do differently, in whichever way Daphne is started."""

from __future__ import annotations

from typing import Any

from daphne.access import AccessLogGenerator
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol

MAX_RECEIVED_BYTES = 64 * 1024
"""Far more than what a page ever sends over its WebSocket."""


class PageSocket(WebSocketProtocol):  # type: ignore[misc]
    """A small limit for what comes in, and none for what goes out.

    Autobahn has one for both ways. Large enough for what is sent to a page, it would let anybody
    fill the memory before they are logged in; small enough for that, it would drop long answers.
    """

    # Attributes of the class come before Daphne's options of the same meaning.
    maxMessagePayloadSize = MAX_RECEIVED_BYTES  # noqa: N815
    maxFramePayloadSize = MAX_RECEIVED_BYTES  # noqa: N815

    def sendMessage(self, *args: Any, **kwargs: Any) -> None:  # noqa: N802
        """As Autobahn's, with the limit lifted for as long as it takes."""
        self.maxMessagePayloadSize = 0
        try:
            super().sendMessage(*args, **kwargs)
        finally:
            self.maxMessagePayloadSize = MAX_RECEIVED_BYTES


def adapt() -> None:
    """Has every Daphne of this process do so. Idempotent."""
    WebSocketFactory.protocol = PageSocket
    AccessLogGenerator.__call__ = _note_without_query


_note = AccessLogGenerator.__call__


def _note_without_query(
    self: AccessLogGenerator, protocol: str, action: str, details: dict[str, Any]
) -> None:
    # The query may be a log-in link.
    _note(self, protocol, action, {**details, "path": details["path"].partition("?")[0]})
