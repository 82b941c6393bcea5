"""What can go wrong with the agent-server, as exceptions. Their texts may be shown to a user."""

# ruff: noqa: N818 - the names say what happened, as `TimeoutError` does not

from __future__ import annotations

_NOT_FOUND = "Conversation not found"


class AgentServerError(Exception):
    """The base of everything this package raises on purpose."""


class InvokeFailed(AgentServerError):
    """An `invokeError`: the other side refused or failed (WIRE.md 2, CANVAS 3).

    `cancelled` tells an abort from a failure. `markdown`, where there is one, is the richer text.
    """

    def __init__(self, text: str, *, cancelled: bool = False, markdown: str | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.cancelled = cancelled
        self.markdown = markdown


class InvokeTimedOut(AgentServerError):
    """No answer within `seconds`. Whether the call was carried out is not known."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"The agent-server did not answer {method} within {seconds:g} s.")
        self.method = method
        self.seconds = seconds


class UnexpectedAnswer(AgentServerError):
    """An answer came, but not of the shape that WIRE.md gives for `method`."""

    def __init__(self, method: str) -> None:
        super().__init__(f"The agent-server's answer to {method} could not be understood.")
        self.method = method


class ConnectionLost(AgentServerError):
    """The socket is gone, with what waited on it (CANVAS 3). `code` is the close code, if any."""

    def __init__(self, code: int | None = None, text: str = "Agent channel disconnected") -> None:
        super().__init__(text)
        self.code = code


class ConnectFailed(AgentServerError):
    """The socket could not be opened. The text is a sentence for a user, without the address."""


class TunnelAuthFailed(ConnectFailed):
    """401 or 403 on the upgrade: trying again is of no use (CANVAS 139)."""

    def __init__(self) -> None:
        super().__init__("Tunnel auth failed. Check token.")


def is_conversation_not_found(error: object) -> bool:
    """Whether this error, or its text, says that the conversation is gone for good.

    The phrase must begin the text, in this case (vectors `not_found_error`): anything else is a
    fault of the connection and must not cost a user the transcript.
    """
    text = error.text if isinstance(error, InvokeFailed) else error
    return isinstance(text, str) and text.lstrip().startswith(_NOT_FOUND)
