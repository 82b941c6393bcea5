"""One client as the server knows it: the `agent-server` and `discovery` methods (WIRE.md 3, 4)."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING

from .audience import Client
from .catalogue import Record
from .connection import Channel, Connection
from .dispatcher import Dispatcher
from .hosting import Hosting
from .wire import Args, Json, NeverAnswered, WireError, args_json

if TYPE_CHECKING:
    from .server import LocalAgent

IDENTITY = {"username": "local", "displayName": "Local user", "initial": "L"}
STATUS_NOTICES = ("stale-build", "config-drift")


class Peer:
    """A connected client and what it has joined."""

    def __init__(self, server: LocalAgent, connection: Connection) -> None:
        self.connection = connection
        self.joined: dict[str, Client] = {}
        self._server = server
        self._hosting = Hosting(connection, self.joined, server.loaded)
        connection.open_channel("agent-server", self._channel())
        lookup = Channel(invokes={"lookupPort": self._lookup_port})
        connection.open_channel("discovery", lookup)

    def forget(self, conversation_id: str) -> None:
        """The conversation's two channels vanish without a frame."""
        self.joined.pop(conversation_id, None)
        for kind in ("dispatcher", "clientio"):
            self.connection.close_channel(f"{kind}:{conversation_id}")

    def gone(self) -> None:
        """The socket is lost: it leaves everything."""
        self._server.agents_lost(self.connection)
        for conversation_id in list(self.joined):
            self._leave(conversation_id)

    def _channel(self) -> Channel:
        catalogue = self._server.catalogue
        return Channel(
            invokes={
                "joinConversation": self._join,
                "leaveConversation": lambda args: self._leave(args[0]),
                "createConversation": self._create,
                "listConversations": lambda args: self._listed(catalogue.matching(args[0])),
                "findConversations": self._find,
                "searchConversationContent": lambda _args: [],
                "renameConversation": self._rename,
                "deleteConversation": lambda args: self._server.delete(args[0]),
                "registerClientAgent": lambda args: self._hosting.register(args[0]),
                "unregisterClientAgent": lambda args: self._hosting.unregister(args[0]),
                "getUserIdentity": lambda _args: IDENTITY,
                "getSpeechToken": lambda _args: None,
                "listMacros": lambda _args: [],
                "shutdown": functools.partial(self._end, "shutdown"),
                "restart": functools.partial(self._end, "restart"),
            }
        )

    def _join(self, args: Args) -> Json:
        options = args[0] if isinstance(args[0], dict) else {}
        conversation = self._server.load(options)
        record = conversation.record
        if record.id in self.joined:
            raise WireError(
                f"Already joined conversation '{record.id}'. "
                "Call leaveConversation() before joining again."
            )
        filtered = options.get("filter") is True
        client, result = conversation.join(self.connection, filtered=filtered)
        self.joined[record.id] = client
        self._server.note_join(record.id)
        dispatcher = Dispatcher(
            conversation,
            client,
            on_submit=self._server.count_submit,
            on_close=functools.partial(self._leave, record.id),
        )
        self.connection.open_channel(f"dispatcher:{record.id}", dispatcher.channel())
        self.connection.open_channel(f"clientio:{record.id}", Channel())
        asyncio.get_running_loop().call_soon(_notices, client)
        return result

    def _leave(self, conversation_id: Json) -> None:
        client = self.joined.get(conversation_id) if isinstance(conversation_id, str) else None
        if client is None:
            raise WireError(f"Not joined to conversation: {_shown(conversation_id)}")
        self.forget(client.conversation_id)
        self._server.leave(client)

    def _create(self, args: Args) -> Json:
        record = self._server.catalogue.create(args[0], _collision(args[1]))
        return self._described(record)

    def _rename(self, args: Args) -> None:
        self._server.rename(args[0], args[1], _collision(args[2]))

    def _find(self, args: Args) -> Json:
        found = self._server.catalogue.find(args[0], args[1])
        return [{"conversation": self._listed([r])[0], "score": score} for r, score in found]

    def _listed(self, records: list[Record]) -> list[dict[str, Json]]:
        return [{**self._described(record), "indexedMessageCount": 0} for record in records]

    def _described(self, record: Record) -> dict[str, Json]:
        return {
            "conversationId": record.id,
            "name": record.name,
            "clientCount": self._server.clients_now(record.id),
            "createdAt": record.created_at,
            "messageCount": 0,
        }

    def _lookup_port(self, args: Args) -> Json:
        asked = args[0].get("agentName") if isinstance(args[0], dict) else None
        return {"port": self._server.port if asked == "agent-server" else None}

    def _end(self, how: str, _args: Args) -> Json:
        self._server.end(how)
        raise NeverAnswered


def _notices(client: Client) -> None:
    """What the real server dismisses right after each join."""
    for notice in STATUS_NOTICES:
        data = {"id": notice, "dismiss": True}
        client.call("notify", args_json([None, "statusNotice", data, "agent-server"]))


def _collision(options: Json) -> Json:
    return options.get("nameCollisionBehavior") if isinstance(options, dict) else None


def _shown(value: Json) -> str:
    return "null" if value is None else str(value)
