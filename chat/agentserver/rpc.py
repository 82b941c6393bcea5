"""The calls of one socket: numbering, what waits, what must be answered. No I/O, no event loop.

A new socket gets a new `Rpc`, so nothing of a replaced socket can reach what came after it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import count

from chat.agentserver.errors import AgentServerError, ConnectionLost, InvokeFailed
from chat.agentserver.events import Json
from chat.agentserver.frames import (
    BadInvoke,
    Call,
    Frame,
    Invoke,
    InvokeError,
    InvokeResult,
    decode_frame,
    encode_frame,
)

type CallKey = tuple[str, int]
"""Channel and call id: ids are only unique within a channel and a direction (WIRE.md 2)."""

type Settle = Callable[[Json, AgentServerError | None], None]
"""Told the result, or the error, of one invoke; exactly once."""

MAX_CAUSES = 16
"""How far a chain of causes is followed; one that is longer is a loop."""

log = logging.getLogger(__name__)


class Rpc:
    """Turns calls into frames and frames into calls, in the order in which they come.

    `send` gets each frame to write. `on_call` gets every one-way call. `on_invoke` gets every
    invoke and says whether somebody will `answer` it; if not, it is refused at once. `on_junk` is
    told of every frame that was dropped: see `Connection`.
    """

    def __init__(
        self,
        *,
        send: Callable[[str], None],
        on_call: Callable[[str, Call], None],
        on_invoke: Callable[[str, Invoke], bool],
        on_junk: Callable[[str], None] = lambda kind: None,
    ) -> None:
        self._send = send
        self._on_call = on_call
        self._on_invoke = on_invoke
        self._on_junk = on_junk
        self._ids = count()
        self._waiting: dict[CallKey, Settle] = {}
        self._unanswered: dict[CallKey, Invoke] = {}
        self._lost: ConnectionLost | None = None

    def invoke(self, channel: str, method: str, args: tuple[Json, ...], settle: Settle) -> CallKey:
        """Ask for something; `settle` is told what came of it.

        Raises `ConnectionLost` after `close`: a later call fails at once instead of hanging.
        """
        self._check_open()
        key = (channel, next(self._ids))
        frame = encode_frame(channel, Invoke(key[1], method, args))
        self._waiting[key] = settle
        self._send(frame)
        return key

    def call(self, channel: str, method: str, args: tuple[Json, ...]) -> None:
        """Tell something, without an answer. Raises `ConnectionLost` after `close`."""
        self._check_open()
        self._send(encode_frame(channel, Call(method, args, next(self._ids))))

    def forget(self, key: CallKey) -> None:
        """Nobody waits for this answer any more; it is ignored when it comes."""
        self._waiting.pop(key, None)

    def answer(
        self,
        channel: str,
        invoke: Invoke,
        result: Json = None,
        error: InvokeFailed | None = None,
    ) -> None:
        """Answer an invoke that `on_invoke` took. Does nothing twice, and nothing after `close`.

        Raises `TypeError` or `ValueError` for a result that is no JSON; the invoke still waits.
        """
        key = (channel, invoke.call_id)
        if self._unanswered.get(key) is not invoke:
            return
        message: InvokeResult | InvokeError = InvokeResult(invoke.call_id, result)
        if error is not None:
            message = InvokeError(invoke.call_id, error.text, error.cancelled, error.markdown)
        frame = encode_frame(channel, message)
        del self._unanswered[key]
        self._send(frame)

    def reopen(self, channel: str) -> None:
        """The other side has made this channel anew and numbers from 0 again (WIRE.md 2).

        What it asked before is void: otherwise a new invoke would pass for a repeated one.
        """
        for key in [key for key in self._unanswered if key[0] == channel]:
            del self._unanswered[key]

    def receive(self, data: str | bytes) -> None:
        """Take one WebSocket message. Never raises: junk is logged and dropped (CANVAS 1)."""
        frame = decode_frame(data)
        if frame is None:
            log.warning("dropped a frame that makes no sense (length %d)", len(data))
            self._on_junk("unreadable")
            return
        try:
            self._dispatch(frame)
        except Exception:
            log.exception("failed to handle a frame; the connection goes on")
            self._on_junk("failed")

    def close(self, error: ConnectionLost) -> None:
        """The socket is gone: everything that waits fails with such an error, and all to come."""
        self._lost = error
        waiting, self._waiting = self._waiting, {}
        self._unanswered.clear()
        for settle in waiting.values():
            settle(None, ConnectionLost(error.code, str(error)))

    def _dispatch(self, frame: Frame) -> None:
        channel, message = frame.channel, frame.message
        match message:
            case Call():
                self._on_call(channel, message)
            case InvokeResult():
                self._settle((channel, message.call_id), message.result, None)
            case InvokeError():
                failure = InvokeFailed(
                    message.error, cancelled=message.cancelled, markdown=message.markdown
                )
                self._settle((channel, message.call_id), None, failure)
            case Invoke():
                self._take_invoke(channel, message)
            case BadInvoke():
                refusal = InvokeError(message.call_id, "Invalid invoke message")
                self._send(encode_frame(channel, refusal))

    def _settle(self, key: CallKey, result: Json, error: AgentServerError | None) -> None:
        settle = self._waiting.pop(key, None)
        if settle is not None:
            settle(result, error)

    def _take_invoke(self, channel: str, invoke: Invoke) -> None:
        key = (channel, invoke.call_id)
        if key in self._unanswered:
            return
        self._unanswered[key] = invoke
        try:
            taken = self._on_invoke(channel, invoke)
        except Exception as failure:
            # A silent client blocks the request, at worst for ever (CANVAS 2): always answer.
            log.exception("failed to take an invoke")
            self.answer(channel, invoke, error=as_failure(failure))
            return
        if not taken:
            refusal = InvokeFailed(f"No invoke handler {invoke.name}")
            self.answer(channel, invoke, error=refusal)

    def _check_open(self) -> None:
        if self._lost is not None:
            raise ConnectionLost(self._lost.code)


def as_failure(error: BaseException) -> InvokeFailed:
    """The failure to answer with when a handler raised `error`.

    An `InvokeFailed` anywhere in its chain of causes speaks for itself, so a wrapped abort stays
    an abort. The text of any other exception is ours alone.
    """
    seen: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if seen is None or isinstance(seen, InvokeFailed):
            break
        seen = seen.__cause__
    return seen if isinstance(seen, InvokeFailed) else InvokeFailed("Internal error")
