"""The embedded agent-server itself: its sockets, its loaded conversations, its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from .audience import Client
from .catalogue import Catalogue
from .commands import run_command
from .connection import Connection
from .conversation import Conversation, RunCommand
from .displaylog import DisplayLog
from .peer import Peer
from .settings import Settings
from .wire import Json

END_DELAY_S = 0.05
"""Between a `shutdown` and the death of the sockets: what was said before still gets out."""


class LocalAgent:
    """An agent-server on one data directory; only one may run on it at a time.

    In a test: `async with LocalAgent(path, settings).serving() as server: server.url`.
    """

    def __init__(
        self,
        data: Path,
        settings: Settings | None = None,
        run_command: RunCommand = run_command,
    ) -> None:
        self.settings = settings or Settings()
        self.catalogue = Catalogue(data)
        self.url = ""
        self.port = 0
        self.submits = 0
        """Accepted submits and interrupts so far."""
        self.connections_peak = 0
        self.on_join: Callable[[str, int], None] | None = None
        """Told of every join: the conversation, and how many clients have joined it now."""
        self.ended: asyncio.Future[str]
        """While serving: settles with `shutdown` or `restart` when a client has asked for it."""
        self._peers: dict[Connection, Peer] = {}
        self._pings: dict[Connection, asyncio.Task[None]] = {}
        self._run_command = run_command
        self._draining = False
        self._loaded: dict[str, Conversation] = {}
        self._peaks: dict[str, int] = {}
        self._server: Server | None = None

    @property
    def listening(self) -> bool:
        """Whether new sockets are taken."""
        return self._server is not None and self._server.is_serving()

    @property
    def connections_now(self) -> int:
        """Open sockets."""
        return len(self._peers)

    def clients_now(self, conversation_id: str) -> int:
        """Clients joined to a conversation."""
        conversation = self._loaded.get(conversation_id)
        return len(conversation.audience.clients) if conversation else 0

    def clients_peak(self, conversation_id: str) -> int:
        """The most clients that were joined to a conversation at the same time."""
        return self._peaks.get(conversation_id, 0)

    def history(self, conversation_id: str) -> list[dict[str, Json]]:
        """The display log of a conversation."""
        return list(self.load({"conversationId": conversation_id}).log.entries)

    def drop_all(self) -> None:
        """Cut every socket off, without a close frame."""
        for connection in list(self._peers):
            connection.drop()

    @contextlib.asynccontextmanager
    async def serving(self, port: int = 0, host: str = "127.0.0.1") -> AsyncIterator[LocalAgent]:
        """Listen; port 0 takes a free one. At the end everything stops at once.

        Raises OSError if the address cannot be had.
        """
        self.ended = asyncio.get_running_loop().create_future()
        server = self._server = await serve(
            self._serve,
            host,
            port,
            compression=None,
            max_size=self.settings.max_frame_bytes,
            ping_interval=None,
            select_subprotocol=_echo,
            server_header=None,
        )
        self.port = next(iter(server.sockets)).getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        self.url = f"ws://{shown}:{self.port}"
        sweep = asyncio.create_task(self._sweep())
        try:
            yield self
        finally:
            sweep.cancel()
            await self._stop(server)

    async def drain(self) -> None:
        """What SIGTERM does (WIRE.md 11): no new sockets; the present ones stay, mute, and lose
        what they have joined; running commands may end within `settings.drain_s`."""
        self._draining = True
        if self._server is not None:
            self._server.close(close_connections=False)
        for peer in self._peers.values():
            for conversation_id in list(peer.joined):
                peer.forget(conversation_id)
        busy = list(self._loaded.values())
        for conversation in busy:
            conversation.detach_all()
            conversation.stopping = True
        settling = [asyncio.create_task(c.settled()) for c in busy]
        if settling:
            _, late = await asyncio.wait(settling, timeout=self.settings.drain_s)
            for task in late:
                task.cancel()
        for conversation in self._loaded.values():
            conversation.end_work()
        await asyncio.sleep(END_DELAY_S if settling else 0)

    def end(self, how: str) -> None:
        """A client asks for the end: every socket dies, and `ended` says how."""
        asyncio.get_running_loop().call_later(END_DELAY_S, self._end_now, how)

    def load(self, options: dict[str, Json]) -> Conversation:
        """The conversation of a join, loaded. Raises WireError for an unknown id."""
        named = "conversationId" in options
        record = self.catalogue.get(options["conversationId"]) if named else None
        record = record or self.catalogue.default()
        conversation = self._loaded.get(record.id)
        if conversation is None:
            log = DisplayLog(self.catalogue.log_path(record.id))
            conversation = Conversation(
                record, log, self.settings, self._unload, self.end, self._run_command
            )
            conversation.stopping = self._draining
            self._loaded[record.id] = conversation
        return conversation

    def loaded(self, conversation_id: str) -> Conversation | None:
        """The conversation if it is loaded."""
        return self._loaded.get(conversation_id)

    def agents_lost(self, connection: Connection) -> None:
        """A socket is gone with all the agents that it hosts."""
        for conversation in self._loaded.values():
            conversation.agents.lost(connection)

    def note_join(self, conversation_id: str) -> None:
        """Keep the peak of a conversation."""
        now = self.clients_now(conversation_id)
        self._peaks[conversation_id] = max(now, self.clients_peak(conversation_id))
        if self.on_join is not None:
            self.on_join(conversation_id, now)

    def count_submit(self) -> None:
        """One more accepted submit."""
        self.submits += 1

    def leave(self, client: Client) -> None:
        """A client leaves a conversation."""
        conversation = self._loaded.get(client.conversation_id)
        if conversation is not None:
            conversation.leave(client)

    def rename(self, conversation_id: Json, name: Json, collision: Json) -> None:
        """Rename a conversation. Raises WireError."""
        self.catalogue.rename(conversation_id, name, collision)
        conversation = self._loaded.get(conversation_id)
        if conversation is not None:
            conversation.record = self.catalogue.get(conversation_id)

    async def delete(self, conversation_id: Json) -> None:
        """Delete a conversation under all its clients, who are told nothing; waits for the
        command that runs. Raises WireError for an unknown id."""
        record = self.catalogue.get(conversation_id)
        self.catalogue.delete(record.id)
        conversation = self._loaded.pop(record.id, None)
        if conversation is None:
            DisplayLog(self.catalogue.log_path(record.id)).remove()
            return
        conversation.stopping = True
        conversation.detach_all()
        for peer in self._peers.values():
            peer.forget(record.id)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.settings.drain_s):
                await conversation.settled()
        conversation.close()
        conversation.log.remove()

    async def _serve(self, socket: ServerConnection) -> None:
        connection = Connection(socket)
        peer = self._peers[connection] = Peer(self, connection)
        self.connections_peak = max(self.connections_peak, len(self._peers))
        try:
            await connection.run()
        finally:
            del self._peers[connection]
            if ping := self._pings.pop(connection, None):
                ping.cancel()
            peer.gone()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self.settings.ping_interval_s)
            for connection in list(self._peers):
                last = self._pings.get(connection)
                if last is not None and not last.done():
                    connection.drop()
                else:
                    self._pings[connection] = asyncio.create_task(connection.ping())

    def _unload(self, conversation: Conversation) -> None:
        conversation.close()
        del self._loaded[conversation.record.id]

    def _end_now(self, how: str) -> None:
        if self._server is not None:
            self._server.close(close_connections=False)
        self.drop_all()
        if not self.ended.done():
            self.ended.set_result(how)

    async def _stop(self, server: Server) -> None:
        for conversation in self._loaded.values():
            conversation.close()
        self._loaded.clear()
        server.close(close_connections=False)
        self.drop_all()
        await server.wait_closed()
        self.catalogue.close()


def _echo(_connection: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    return offered[0] if offered else None
