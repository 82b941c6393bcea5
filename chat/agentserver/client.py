"""The typed calls of the agent-server's methods that the site uses (WIRE.md 4, 5)."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from chat.agentserver.connection import Connection
from chat.agentserver.errors import ConnectionLost, UnexpectedAnswer
from chat.agentserver.events import InteractionRequested, Json, QueueEntry, QueueSnapshot
from chat.agentserver.values import decode_entry, decode_interaction, decode_snapshot, integer, text

SERVER_CHANNEL = "agent-server"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Joined:
    """What `joinConversation` answers (WIRE.md 4). `queue_snapshot` is `None` for an idle queue."""

    connection_id: str
    conversation_id: str
    name: str
    pending_interactions: tuple[InteractionRequested, ...]
    queue_snapshot: QueueSnapshot | None


@dataclass(frozen=True)
class Submitted:
    """What `submitCommand` answers: in the queue, or refused (`error`, as `queue_full`)."""

    ok: bool
    entry: QueueEntry | None
    error: str | None
    max_depth: int | None


class AgentServerClient(Connection):
    """The methods by name, over a `Connection`, which says how answers and events are ordered."""

    async def join(self, conversation_id: str | None = None) -> Joined:
        """Join, with the display events of every client; the server's default conversation if none.

        The conversation's events are delivered from the very answer on (CANVAS 1).
        """
        # A null conversationId is not the same as none (WIRE.md 4).
        options: dict[str, Json] = {"filter": False, "clientType": "extension"}
        if conversation_id is not None:
            options["conversationId"] = conversation_id
        joined, _ = await self.ask(
            SERVER_CHANNEL, "joinConversation", (options,), self._open_conversation
        )
        return joined

    async def leave(self, conversation_id: str) -> None:
        """Leave; where the connection is gone there is nothing left to leave."""
        self.close_channel(_clientio(conversation_id))
        try:
            await self.invoke(SERVER_CHANNEL, "leaveConversation", conversation_id)
        except ConnectionLost:
            log.debug("left a conversation on a connection that is gone")

    async def create_conversation(
        self, name: str, *, append_number: bool = False
    ) -> dict[str, Json]:
        """Make a conversation, and join nothing. Names collide without regard to case."""
        options = ({"nameCollisionBehavior": "appendNumber"},) if append_number else ()
        method = "createConversation"
        return _object(method, await self.invoke(SERVER_CHANNEL, method, name, *options))

    async def list_conversations(self, substring: str | None = None) -> list[dict[str, Json]]:
        """All conversations, or those with this in their name, without regard to case."""
        method, args = "listConversations", () if substring is None else (substring,)
        return _objects(method, await self.invoke(SERVER_CHANNEL, method, *args))

    async def submit(self, conversation_id: str, text: str, request_id: str) -> Submitted:
        """Hand in what the user wrote; our id is the request's and the client's (CANVAS 8)."""
        args = (text, None, None, request_id, request_id)
        answer = await self._dispatch(conversation_id, "submitCommand", *args)
        return _decode_submitted(_object("submitCommand", answer))

    async def cancel(self, conversation_id: str, request_id: str) -> str:
        """Cancel a request: `cancelled_queued`, `cancelled_running` or `not_found` (WIRE.md 5)."""
        answer = await self._dispatch(conversation_id, "cancelCommand", request_id)
        return text(_object("cancelCommand", answer).get("kind"))

    async def queue_snapshot(self, conversation_id: str) -> QueueSnapshot:
        snapshot = decode_snapshot(await self._dispatch(conversation_id, "getQueueSnapshot"))
        if snapshot is None:
            raise UnexpectedAnswer("getQueueSnapshot")
        return snapshot

    async def history(
        self, conversation_id: str, after_seq: int | None = None
    ) -> list[dict[str, Json]]:
        """The log entries with `seq > after_seq`, ascending; all of them if that is `None`."""
        entries, _ = await self.history_with_cut(conversation_id, after_seq)
        return entries

    async def history_with_cut(
        self, conversation_id: str, after_seq: int | None = None
    ) -> tuple[list[dict[str, Json]], int]:
        """The same, and what `events_delivered` was when the answer came.

        The log holds what those events told, and nothing of what later ones tell.
        """
        # A null argument would drop the entry with seq 0 (WIRE.md 8).
        method, args = "getDisplayHistory", () if after_seq is None else (after_seq,)
        channel = _dispatcher(conversation_id)
        return await self.ask(channel, method, args, lambda answer: _objects(method, answer))

    async def respond_to_choice(self, conversation_id: str, choice_id: str, response: Json) -> Json:
        """Answer a choice or a form. It waits for the running command (WIRE.md 7 A)."""
        return await self._dispatch(conversation_id, "respondToChoice", choice_id, response)

    async def respond_to_interaction(
        self, conversation_id: str, interaction_id: str, value: Json, *, kind: str = "question"
    ) -> None:
        """Answer a question. The answer is empty even for one that is over (WIRE.md 7 B)."""
        response = {"interactionId": interaction_id, "type": kind, "value": value}
        await self._dispatch(conversation_id, "respondToInteraction", response)

    def cancel_interaction(self, conversation_id: str, interaction_id: str) -> None:
        """Withdraw a question, which answers it with its default, if it has one."""
        self.call(_dispatcher(conversation_id), "cancelInteraction", interaction_id)

    async def _dispatch(self, conversation_id: str, method: str, *args: Json) -> Json:
        return await self.invoke(_dispatcher(conversation_id), method, *args)

    def _open_conversation(self, answer: Json) -> Joined:
        joined = _decode_joined(_object("joinConversation", answer))
        self.open_channel(_clientio(joined.conversation_id))
        return joined


def _dispatcher(conversation_id: str) -> str:
    return f"dispatcher:{conversation_id}"


def _clientio(conversation_id: str) -> str:
    return f"clientio:{conversation_id}"


def _object(method: str, answer: Json) -> dict[str, Json]:
    if not isinstance(answer, dict):
        raise UnexpectedAnswer(method)
    return answer


def _objects(method: str, answer: Json) -> list[dict[str, Json]]:
    if not isinstance(answer, list):
        raise UnexpectedAnswer(method)
    return [item for item in answer if isinstance(item, dict)]


def _decode_joined(answer: dict[str, Json]) -> Joined:
    conversation_id = text(answer.get("conversationId"))
    if not conversation_id:
        raise UnexpectedAnswer("joinConversation")
    pending = answer.get("pendingInteractions")
    questions = [
        decode_interaction(conversation_id, item)
        for item in (pending if isinstance(pending, list) else [])
    ]
    return Joined(
        connection_id=text(answer.get("connectionId")),
        conversation_id=conversation_id,
        name=text(answer.get("name")),
        pending_interactions=tuple(question for question in questions if question is not None),
        queue_snapshot=decode_snapshot(answer.get("queueSnapshot")),
    )


def _decode_submitted(answer: dict[str, Json]) -> Submitted:
    ok = answer.get("ok") is True
    return Submitted(
        ok=ok,
        entry=decode_entry(answer.get("entry")),
        error=None if ok else text(answer.get("error")),
        max_depth=integer(answer.get("maxDepth")),
    )
