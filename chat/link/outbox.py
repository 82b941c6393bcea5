"""Hands in what waits, in order and once, and passes on what is to be stopped."""

from __future__ import annotations

import structlog

from chat.agentserver.client import AgentServerClient
from chat.agentserver.errors import InvokeFailed
from chat.agentserver.events import InteractionRequested
from chat.models import RequestState
from chat.transcript.effects import STOPPED
from chat.transcript.live import LiveTranscript
from chat.transcript.live_request import LiveRequest
from chat.transcript.requests import SERVER_STOPPING, Signal

YES = ("yes", "y", "ok", "confirm")
NOT_ACCEPTED = "Not accepted by the agent-server"

log = structlog.get_logger(__name__)


class Outbox:
    """One per join: what was submitted over this connection is not submitted again over it.

    After a drop nobody knows whether a submit arrived; the next join finds out (Invariant 2).
    `erased` are requests whose transcript is gone; they are stopped, and taken off the list.
    """

    def __init__(
        self,
        client: AgentServerClient,
        upstream_id: str,
        live: LiveTranscript,
        erased: dict[str, LiveRequest],
    ) -> None:
        self._client = client
        self._upstream_id = upstream_id
        self._live = live
        self._erased = erased
        self._submitted: set[str] = set()
        self._stopping: set[str] = set()

    async def drain(self) -> None:
        """Bring the agent-server up to date with what the user asked.

        Raises `AgentServerError`: the connection is of no more use.
        """
        for request in list(self._erased.values()):
            await self._stop(request)
            self._erased.pop(request.request_id, None)
        for request in self._live.unfinished:
            if request.request_id in self._erased:  # since this loop began
                continue
            if request.stop_requested:
                await self._stop(request)
            elif request.state == RequestState.PENDING:
                await self._submit(request)

    async def _submit(self, request: LiveRequest) -> None:
        if request.request_id in self._submitted:
            return
        self._submitted.add(request.request_id)
        request.attempted = True
        log.info("submitting", request=request.request_id)
        try:
            answer = await self._client.submit(self._upstream_id, request.text, request.request_id)
        except InvokeFailed as failure:
            log.info("not accepted", request=request.request_id)
            request.signal(Signal.REFUSED, failure.text or NOT_ACCEPTED)
            return
        log.info("accepted" if answer.ok else "not accepted", request=request.request_id)
        if answer.ok:
            request.signal(Signal.ACCEPTED)
        elif answer.error == SERVER_STOPPING:
            request.signal(Signal.INTERRUPTED, SERVER_STOPPING)
        else:
            request.signal(Signal.REFUSED, answer.error or NOT_ACCEPTED)

    async def _stop(self, request: LiveRequest) -> None:
        if request.request_id in self._stopping:
            return
        self._stopping.add(request.request_id)
        if request.state == RequestState.PENDING and not request.attempted:
            request.signal(Signal.CANCELLED, STOPPED)
            return
        try:
            kind = await self._client.cancel(self._upstream_id, request.request_id)
            await self._unblock(request)
        except InvokeFailed:
            log.warning("cancel refused", request=request.request_id)
            self._stopping.discard(request.request_id)  # Stop may be pressed again
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
