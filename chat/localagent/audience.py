"""Who is joined to a conversation, and who of them gets which frame (WIRE.md 4, 6)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from .connection import Connection
from .wire import Json, WireError, args_json


class Scope(Enum):
    """Frames that belong to no single request."""

    EVERYONE = auto()
    UNFILTERED = auto()


@dataclass(slots=True)
class Client:
    """One join of one socket."""

    connection: Connection
    conversation_id: str
    connection_id: str
    filtered: bool
    """It gets only the frames of its own requests, and none of the queue (`filter: true`)."""

    def call(self, name: str, args: str) -> None:
        """Send it a `clientio` call."""
        self.connection.call(f"clientio:{self.conversation_id}", name, args)


class Audience:
    """The clients of one conversation by `connectionId`, in the order of joining."""

    def __init__(self) -> None:
        self.clients: dict[str, Client] = {}
        self._next_id = 0

    def add(self, connection: Connection, conversation_id: str, *, filtered: bool) -> Client:
        """A new client with a new `connectionId`."""
        client = Client(connection, conversation_id, str(self._next_id), filtered)
        self._next_id += 1
        self.clients[client.connection_id] = client
        return client

    def remove(self, client: Client) -> None:
        """It has left."""
        self.clients.pop(client.connection_id, None)

    def send(self, name: str, args: list[Json], to: Scope | str | None = Scope.EVERYONE) -> None:
        """A call to all. A text is the `connectionId` whose request the frame belongs to, and
        `None` says that it belongs to no client's request: both matter to filtered clients only."""
        text = args_json(args)
        for client in self.clients.values():
            if not client.filtered or to is Scope.EVERYONE or to == client.connection_id:
                client.call(name, text)

    def send_originator(self, connection_id: str, name: str, args: list[Json]) -> None:
        """A call to one client. Raises WireError if it has gone, which fails the command."""
        client = self.clients.get(connection_id)
        if client is None:
            raise WireError(f"ClientIO not found for connectionId {connection_id}")
        client.call(name, args_json(args))
