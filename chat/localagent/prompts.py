"""What a conversation has asked and not yet been told: questions and choices (WIRE.md 7)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from .audience import Audience, Scope
from .displaylog import DisplayLog
from .queue import Request, RequestQueue, now_ms
from .wire import UNDEFINED, Args, Json, WireError

CHOICE_GONE = "Choice not found or expired"
CANCELLED = "Cancelled by client"

type ChoiceCallback = Callable[[Json], Coroutine[None, None, None]]


@dataclass(slots=True)
class Question:
    """A blocking question. One that belongs to a request shows in the queue and is superseded."""

    message: str
    choices: list[str]
    source: str
    answer: asyncio.Future[Json]
    default: int | None = None
    request: Request | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    timestamp: int = field(default_factory=now_ms)

    def wire(self) -> dict[str, Json]:
        """The payload of `requestInteraction`."""
        payload: dict[str, Json] = {"interactionId": self.id, "type": "question"}
        if self.request is not None:
            payload["requestId"] = self.request.ref
        payload |= {"source": self.source, "timestamp": self.timestamp}
        payload |= {"message": self.message, "choices": self.choices}
        if self.default is not None:
            payload["defaultId"] = self.default
        return payload


class Prompts:
    """The open questions and choices of one conversation."""

    def __init__(
        self, audience: Audience, log: DisplayLog, queue: RequestQueue, timeout_s: float
    ) -> None:
        self._audience = audience
        self._log = log
        self._queue = queue
        self._timeout_s = timeout_s
        self._questions: dict[str, Question] = {}
        self._choices: dict[str, ChoiceCallback] = {}

    async def ask(self, question: Question) -> Json:
        """Ask all and wait. Raises WireError when it is cancelled and has no default."""
        payload = question.wire()
        logged = {k: v for k, v in payload.items() if k not in ("type", "timestamp")}
        self._log.add("pending-interaction", {"interactionType": "question", **logged})
        request = question.request
        to = request.originator if request else None
        self._questions[question.id] = question
        self._audience.send("requestInteraction", [payload], to)
        if request:
            self._queue.mark_blocked(request, blocked=True)
        timer = asyncio.get_running_loop().call_later(self._timeout_s, self.cancel, question.id)
        try:
            return await question.answer
        finally:
            timer.cancel()
            self._questions.pop(question.id, None)
            if request:
                self._queue.mark_blocked(request, blocked=False)

    def pending(self) -> list[dict[str, Json]]:
        """For a join: the questions that belong to no request (WIRE.md 4)."""
        return [q.wire() for q in self._questions.values() if q.request is None]

    def respond(self, args: Args) -> None:
        """`respondToInteraction`: the first answer wins, any other does nothing."""
        reply = args[0]
        if reply is UNDEFINED or reply is None:
            shown = "undefined" if reply is UNDEFINED else "null"
            raise WireError(f"Cannot read properties of {shown} (reading 'interactionId')")
        question = self._take(reply.get("interactionId")) if isinstance(reply, dict) else None
        if question is not None:
            value = reply.get("value")
            fields = {"interactionId": question.id, "response": value}
            self._log.add("interaction-resolved", fields)
            self._audience.send("interactionResolved", [question.id, value], Scope.UNFILTERED)
            question.answer.set_result(value)

    def cancel(self, interaction_id: Json) -> None:
        """Answer a question with its default, or fail its command where it has none."""
        question = self._take(interaction_id)
        if question is None:
            return
        self._log.add("interaction-cancelled", {"interactionId": question.id})
        self._audience.send("interactionCancelled", [question.id], Scope.UNFILTERED)
        if question.default is None:
            question.answer.set_exception(WireError(CANCELLED))
        else:
            question.answer.set_result(question.default)

    def cancel_of_requests(self) -> bool:
        """Cancel every question that belongs to a request; true if there was one."""
        owned = [question.id for question in self._questions.values() if question.request]
        for interaction_id in owned:
            self.cancel(interaction_id)
        return bool(owned)

    def offer(self, callback: ChoiceCallback, choice_id: str) -> None:
        """Wait for the answer to a choice without blocking anything."""
        self._choices[choice_id] = callback

    def take_choice(self, choice_id: Json) -> ChoiceCallback:
        """What to run for an answered choice. Raises WireError for an unknown or answered one."""
        callback = self._choices.pop(choice_id, None) if isinstance(choice_id, str) else None
        if callback is None:
            raise WireError(CHOICE_GONE)
        return callback

    def _take(self, interaction_id: Json) -> Question | None:
        if not isinstance(interaction_id, str):
            return None
        question = self._questions.pop(interaction_id, None)
        return None if question is None or question.answer.done() else question
