"""Hands in what waits, in order and once, and passes on what is to be stopped."""

from __future__ import annotations

import structlog

from chat.agentserver.client import AgentServerClient
from chat.agentserver.errors import ConnectionLost, InvokeFailed, InvokeTimedOut
from chat.agentserver.events import InteractionRequested
from chat.models import RequestState
from chat.transcript.live import STOPPED, LiveTranscript
from chat.transcript.live_request import LiveRequest
from chat.transcript.requests import SERVER_STOPPING, Signal

YES = ("yes", "y", "ok", "confirm")

log = structlog.get_logger(__name__)


class Outbox:
    """One per join: what was submitted over this connection is not submitted again over it.

    After a drop nobody knows whether a submit arrived; the next join finds out (Invariant 2).
    """

    def __init__(self, client: AgentServerClient, upstream_id: str, live: LiveTranscript) -> None:
        self._client = client
        self._upstream_id = upstream_id
        self._live = live
        self._submitted: set[str] = set()
        self._stopping: set[str] = set()

    async def drain(self) -> None:
        """Bring the agent-server up to date with what the user asked.

        Raises `ConnectionLost` or `InvokeTimedOut`: the connection is of no more use.
        """
        for request in self._live.unfinished:
            if request.stop_requested:
                await self._stop(request)
            elif request.state == RequestState.PENDING:
                await self._submit(request)

    async def stop_cleared(self, request: LiveRequest) -> None:
        """Stop a request whose transcript was erased."""
        request.stop_requested = True
        await self._stop(request)

    async def _submit(self, request: LiveRequest) -> None:
        if request.request_id in self._submitted:
            return
        self._submitted.add(request.request_id)
        try:
            answer = await self._client.submit(self._upstream_id, request.text, request.request_id)
        except InvokeFailed as failure:
            request.signal(Signal.REFUSED, failure.text)
            return
        if answer.ok:
            request.signal(Signal.ACCEPTED)
        elif answer.error == SERVER_STOPPING:
            request.signal(Signal.INTERRUPTED, SERVER_STOPPING)
        else:
            request.signal(Signal.REFUSED, answer.error or "Not accepted by the agent-server")

    async def _stop(self, request: LiveRequest) -> None:
        if request.request_id in self._stopping:
            return
        self._stopping.add(request.request_id)
        if request.state == RequestState.PENDING and request.request_id not in self._submitted:
            request.signal(Signal.CANCELLED, STOPPED)
            return
        try:
            kind = await self._client.cancel(self._upstream_id, request.request_id)
            await self._unblock(request)
        except (ConnectionLost, InvokeTimedOut):
            raise
        except InvokeFailed as failure:
            log.warning("cancel refused", request_id=request.request_id, error=failure.text)
            return
        if kind == "not_found":
            request.signal(Signal.CANCELLED, STOPPED)

    async def _unblock(self, request: LiveRequest) -> None:
        """A request that waits for an answer goes on waiting when cancelled (WIRE.md 7 B).

        Withdrawing a question answers it with its default: one that would say yes gets a no.
        """
        for question in list(self._live.interactions.values()):
            if question.ref is None or question.ref.key != request.request_id:
                continue
            refusal = _refusal(question)
            if refusal is None:
                self._client.cancel_interaction(self._upstream_id, question.interaction_id)
            else:
                await self._client.respond_to_interaction(
                    self._upstream_id, question.interaction_id, refusal
                )


def _refusal(question: InteractionRequested) -> int | None:
    """The answer that does nothing, where withdrawing the question would answer it with yes."""
    default = question.default_id
    if default is None or not 0 <= default < len(question.choices):
        return None
    if question.choices[default].strip().lower() not in YES:
        return None
    others = [i for i, _ in enumerate(question.choices) if i != default]
    return others[-1] if others else None
