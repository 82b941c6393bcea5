"""A connection to an agent-server that can be made again: calls out, events and invokes in."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from chat.agentserver.decode import decode_event
from chat.agentserver.errors import (
    AgentServerError,
    ConnectFailed,
    ConnectionLost,
    InvokeFailed,
    InvokeTimedOut,
)
from chat.agentserver.events import Event, Json, UnknownEvent
from chat.agentserver.frames import Call, Invoke
from chat.agentserver.rpc import Rpc, as_failure
from chat.agentserver.transport import Limits, Transport, open_socket, spawn

type Handler = Callable[..., Awaitable[Json]]
"""Answers one method: gets its arguments, returns the result, raises `InvokeFailed` to refuse."""

log = logging.getLogger(__name__)


class Connection:
    """A connection to one agent-server. May `connect` again after a drop, but never after `close`.

    Everything that one socket brings is handled strictly in the order of its frames, in one task:
    events go to `on_event` at once, and an answer wakes its caller before the next frame is looked
    at. So when a call returns, all events that came before its answer have been delivered, and, if
    the caller awaits the call itself and not a task around it, none that came after. For a caller
    that cannot be sure of that there is the count that `ask` returns.

    `on_close` is told the close code when the socket ends other than by `close` or a new
    `connect`; by then everything that waited has failed with `ConnectionLost`. `on_junk` is told of
    each frame that was dropped: "unreadable", "senseless" (a known call with wrong arguments) or
    "failed" (its handling raised). Neither the address, nor the token, nor anything of what a frame
    says is ever part of a log line. Log lines are written in `context`, where there is one.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        on_event: Callable[[Event], None],
        on_close: Callable[[int | None], None],
        on_junk: Callable[[str], None] | None = None,
        context: contextvars.Context | None = None,
        connect_timeout_s: float = 10,
        invoke_timeout_s: float = 30,
        ping_interval_s: float = 20,
        max_frame_bytes: int = 16 * 2**20,
    ) -> None:
        if not re.fullmatch(r"[!-~]*", token):
            raise ValueError("The tunnel token holds characters that a header cannot carry.")
        self._url = url
        self._token = token
        self._on_event = on_event
        self._on_close = on_close
        self._on_junk = on_junk or (lambda kind: None)
        self._context = context
        self._invoke_timeout_s = invoke_timeout_s
        self._limits = Limits(connect_timeout_s, ping_interval_s, max_frame_bytes)
        self._handlers: dict[tuple[str, str], Handler] = {}
        self._handling: set[asyncio.Task[None]] = set()
        self._open: set[str] = set()
        self._rpc: Rpc | None = None
        self._transport: Transport | None = None
        self._attempt = 0
        self._closed = False
        self.events_delivered = 0
        """How many events `on_event` was given, over all sockets."""

    @property
    def connected(self) -> bool:
        return self._rpc is not None

    async def connect(self) -> None:
        """Open the socket; one that is still open is closed first and counts as replaced.

        Raises `TunnelAuthFailed` for 401 and 403, `ConnectFailed` for everything else.
        """
        self._check_not_closed()
        self._attempt += 1
        attempt = self._attempt
        await self._drop_socket(ConnectionLost(text="Agent channel rebound"))
        opened = await open_socket(self._url, self._token, self._limits)
        if isinstance(opened, ConnectFailed):
            raise opened
        if self._closed or attempt != self._attempt:
            await opened.close()
            self._check_not_closed()
            raise ConnectFailed("Another connection took the place of this one.")
        rpc = Rpc(
            send=lambda frame: transport.send(frame),
            on_call=self._take_call,
            on_invoke=lambda channel, invoke: self._take_invoke(rpc, channel, invoke),
            on_junk=self._on_junk,
        )
        transport = Transport(
            opened,
            on_frame=rpc.receive,
            on_end=lambda code: self._end(rpc, code),
            ping_interval_s=self._limits.ping_interval_s,
            context=self._context,
        )
        self._rpc, self._transport = rpc, transport

    async def close(self) -> None:
        """Close for good. What waits fails with `ConnectionLost`; `on_close` is not called."""
        self._closed = True
        await self._drop_socket(ConnectionLost())

    def handle(self, channel: str, method: str, handler: Handler) -> None:
        """Answer what the agent-server invokes, or calls, as `method` on `channel`.

        Whatever has no handler is refused with `No invoke handler <method>`.
        """
        self._handlers[channel, method] = handler

    def open_channel(self, channel: str) -> None:
        """Take the events of this `clientio` channel from now on; those of others are dropped."""
        self._open.add(channel)
        self._live_rpc().reopen(channel)

    def close_channel(self, channel: str) -> None:
        """Take no more events of this channel."""
        self._open.discard(channel)

    async def invoke(
        self, channel: str, method: str, *args: Json, timeout_s: float | None = None
    ) -> Json:
        """Call and wait for the result; `None` where the method returns nothing.

        Raises `InvokeFailed` (refused), `InvokeTimedOut`, `ConnectionLost`.
        """
        result, _ = await self.ask(channel, method, args, lambda answer: answer, timeout_s)
        return result

    def call(self, channel: str, method: str, *args: Json) -> None:
        """Call without an answer. Raises `ConnectionLost` where there is no connection."""
        self._live_rpc().call(channel, method, args)

    async def ask[T](
        self,
        channel: str,
        method: str,
        args: tuple[Json, ...],
        read: Callable[[Json], T],
        timeout_s: float | None = None,
    ) -> tuple[T, int]:
        """Invoke; the answer as `read` makes it of the result, and the number of events before it.

        `read` runs when the answer is met in wire order, before the next frame is looked at.
        """
        answer: asyncio.Future[tuple[T, int]] = asyncio.get_running_loop().create_future()

        def settle(result: Json, error: AgentServerError | None) -> None:
            if answer.done():  # timed out in this very turn of the loop
                return
            if error is not None:
                answer.set_exception(error)
                return
            try:
                answer.set_result((read(result), self.events_delivered))
            except AgentServerError as failure:
                answer.set_exception(failure)

        rpc = self._live_rpc()
        key = rpc.invoke(channel, method, args, settle)
        seconds = self._invoke_timeout_s if timeout_s is None else timeout_s
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise InvokeTimedOut(method, seconds) from None
        finally:
            rpc.forget(key)

    def _take_call(self, channel: str, call: Call) -> None:
        handler = self._handlers.get((channel, call.name))
        if handler is not None:
            self._spawn(_run_call(handler, call))
            return
        if channel not in self._open:
            log.debug("dropped a call on a channel that is not open")
            return
        conversation_id = channel.partition(":")[2]
        event = decode_event(conversation_id, call.name, call.args)
        if event is None:
            log.warning("dropped a call that makes no sense: %s", call.name)
            self._on_junk("senseless")
            return
        if isinstance(event, UnknownEvent):
            # Not the name itself: it is the agent-server's word, which may be anybody's.
            log.info("a call of an unknown name (length %d)", len(call.name))
        self.events_delivered += 1
        self._on_event(event)

    def _take_invoke(self, rpc: Rpc, channel: str, invoke: Invoke) -> bool:
        handler = self._handlers.get((channel, invoke.name))
        if handler is None:
            return False
        self._spawn(_run_invoke(rpc, channel, handler, invoke))
        return True

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        # The loop keeps no reference to a task, and one that is not kept may vanish (see C61).
        task = spawn(work, self._context)
        self._handling.add(task)
        task.add_done_callback(self._handling.discard)

    def _live_rpc(self) -> Rpc:
        if self._rpc is None:
            raise ConnectionLost
        return self._rpc

    def _check_not_closed(self) -> None:
        if self._closed:
            raise ConnectFailed("This connection was closed for good.")

    def _end(self, rpc: Rpc, code: int) -> None:
        """The socket ended by itself: never called for one that was closed or replaced."""
        self._forget_socket(rpc, ConnectionLost(code))
        try:
            self._on_close(code)
        except Exception:
            log.exception("failed to handle the end of a connection")

    async def _drop_socket(self, error: ConnectionLost) -> None:
        rpc, transport = self._rpc, self._transport
        if rpc is None or transport is None:
            return
        self._forget_socket(rpc, error)
        await transport.close()

    def _forget_socket(self, rpc: Rpc, error: ConnectionLost) -> None:
        self._rpc = self._transport = None
        self._open.clear()
        for task in self._handling:
            task.cancel()
        rpc.close(error)


async def _run_call(handler: Handler, call: Call) -> None:
    try:
        await handler(*call.args)
    except Exception:
        log.exception("the handler of a call failed")


async def _run_invoke(rpc: Rpc, channel: str, handler: Handler, invoke: Invoke) -> None:
    try:
        rpc.answer(channel, invoke, await handler(*invoke.args))
    except Exception as error:
        if not isinstance(error, InvokeFailed):
            log.exception("the handler of an invoke failed")
        rpc.answer(channel, invoke, error=as_failure(error))
