"""Which client agents a socket believes that it hosts, and the rules of registering (WIRE.md 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from .agents import ClientAgent
from .connection import Connection
from .wire import UNDEFINED, Json, WireError

if TYPE_CHECKING:
    from .conversation import Conversation


class Hosting:
    """The registrations of one socket by agent name. It outlives a leave and a deletion: the
    socket must unregister before it can register that name again."""

    def __init__(
        self,
        connection: Connection,
        joined: Iterable[str],
        find: Callable[[str], Conversation | None],
    ) -> None:
        self._connection = connection
        self._joined = joined
        self._find = find
        self._registered: dict[str, str] = {}

    async def register(self, given: Json) -> None:
        """`registerClientAgent`: waits for the running command. Raises WireError."""
        given = given if isinstance(given, dict) else {}
        name = str(given.get("name", UNDEFINED))
        conversation = self._conversation(given, "register")
        conversation_id = conversation.record.id
        if self._registered.get(name) == conversation_id:
            raise WireError(
                f"Client agent '{name}' is already registered on conversation '{conversation_id}'"
            )
        interface, manifest = given.get("agentInterface"), given.get("manifest")
        if not isinstance(interface, list):
            raise WireError("Cannot read properties of undefined (reading 'map')")
        if "." in name:
            raise WireError(f"Invalid schema name: {name}")
        async with conversation.command_lock:
            manifest = manifest if isinstance(manifest, dict) else {}
            agent = ClientAgent(self._connection, name, manifest, interface)
            await conversation.agents.add(agent)
            self._registered[name] = conversation_id

    async def unregister(self, given: Json) -> None:
        """`unregisterClientAgent`: anyone's agent of that name, in vain for an unknown name."""
        given = given if isinstance(given, dict) else {}
        conversation = self._conversation(given, "unregister")
        name = str(given.get("name", UNDEFINED))
        async with conversation.command_lock:
            await conversation.agents.remove(name)
            registered = self._registered.get(name)
            stale = registered is not None and self._find(registered) is None
            if registered == conversation.record.id or stale:
                del self._registered[name]
                self._connection.close_channel(f"agent:{name}")

    def _conversation(self, given: dict[str, Json], verb: str) -> Conversation:
        joined = list(self._joined)
        wanted = given.get("conversationId", UNDEFINED)
        if wanted is UNDEFINED and len(joined) > 1:
            raise WireError(
                f"Cannot {verb} client agent: multiple conversations joined; specify conversationId"
            )
        if wanted is UNDEFINED and joined:
            wanted = joined[0]
        conversation = self._find(wanted) if wanted in joined else None
        if conversation is None:
            raise WireError(f"Not joined to conversation: {wanted}")
        return conversation
