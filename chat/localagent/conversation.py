"""One loaded conversation: who is joined, what waits, what runs (WIRE.md 10, 11)."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable

from .agents import AgentHost
from .audience import Audience, Client, Scope
from .catalogue import Record
from .connection import Connection
from .context import ICONS, Aborted, CommandContext, text
from .display import Display
from .displaylog import DisplayLog
from .prompts import Prompts
from .queue import Coalescer, Request, RequestQueue
from .settings import Settings
from .wire import Json, WireError

logger = logging.getLogger(__name__)

JOINED_NOTICE = "[A new client has joined this conversation.]"
LEFT_NOTICE = "[A client has left this conversation.]"


type RunCommand = Callable[[CommandContext], Awaitable[None]]
"""Runs the request of a context to its end. Raises Aborted when it is cancelled."""


class Conversation:
    """Stays loaded while somebody is joined or a command runs, and `settings.idle_s` longer.

    `on_idle` is called when it may be unloaded, `control` with `shutdown` or `restart`.
    """

    def __init__(
        self,
        record: Record,
        log: DisplayLog,
        settings: Settings,
        on_idle: Callable[[Conversation], None],
        control: Callable[[str], None],
        run_command: RunCommand,
    ) -> None:
        self.record = record
        self.settings = settings
        self.control = control
        self.log = log
        self.audience = Audience()
        self.display = Display(self.audience, log)
        self.snapshots = Coalescer(self._send_snapshot, self._later_snapshot)
        self.queue = RequestQueue(settings.max_depth, self.snapshots.touch)
        self.prompts = Prompts(self.audience, log, self.queue, settings.interaction_timeout_s)
        self.agents = AgentHost(self)
        self.command_lock = asyncio.Lock()
        self.stopping = False
        self._on_idle = on_idle
        self._run_command = run_command
        self._context: CommandContext | None = None
        self._job: asyncio.Task[None] | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._refreshes: Counter[str] = Counter()

    def icon_of(self, source: str) -> str:
        """The emoji of an agent, client-hosted or built in."""
        return self.agents.icon(source) or ICONS.get(source, "")

    def join(self, connection: Connection, *, filtered: bool) -> tuple[Client, dict[str, Json]]:
        """Let a client in, after telling the others; gives the result of the join too."""
        self._stop_timers()
        self.display.system(JOINED_NOTICE)
        client = self.audience.add(connection, self.record.id, filtered=filtered)
        result: dict[str, Json] = {
            "connectionId": client.connection_id,
            "conversationId": self.record.id,
            "name": self.record.name,
            "pendingInteractions": self.prompts.pending(),
        }
        if not self.queue.idle:
            result["queueSnapshot"] = self.queue.snapshot()
        return client, result

    def leave(self, client: Client) -> None:
        """A client has left or is lost: what it submitted goes on."""
        self.audience.remove(client)
        self.display.system(LEFT_NOTICE)
        if not self.audience.clients:
            loop = asyncio.get_running_loop()
            self._timers.append(loop.call_later(self.settings.grace_s, self._no_clients))
            self._timers.append(loop.call_later(self.settings.idle_s, self._idle))

    def submit(self, request: Request, *, interrupt: bool = False) -> None:
        """Queue a request and start it if nothing runs. Raises QueueFull.

        A running request that is blocked on a question of its own gives way (WIRE.md 7).
        """
        if not interrupt and self.prompts.cancel_of_requests():
            self._cancel_running("user")
        self.queue.add(request, at_head=interrupt)
        self._event("requestQueued", request.entry(), self.queue.version)
        if interrupt:
            self._cancel_running("user")
        self._pump()

    def cancel(self, request_id: Json, reason: str = "user") -> str:
        """Cancel a waiting or the running request; gives the `kind` of the answer."""
        if self.queue.cancel_queued(request_id):
            self._event("requestCancelled", request_id, reason, self.queue.version)
            return "cancelled_queued"
        running = self.queue.running
        if running is None or running.request_id != request_id:
            return "not_found"
        self._cancel_running(reason)
        return "cancelled_running"

    def cancel_by_client_id(self, client_request_id: Json) -> None:
        """Cancel what was submitted with this id of the client's."""
        running = [self.queue.running] if self.queue.running else []
        for request in [*running, *self.queue.queued]:
            if request.client_request_id == client_request_id:
                self.cancel(request.request_id)

    def count_refresh(self, display_id: str) -> int:
        """How often a dynamic display has been asked for, this time included."""
        self._refreshes[display_id] += 1
        return self._refreshes[display_id]

    async def settled(self) -> None:
        """Wait until no command runs."""
        while self._job is not None:
            await asyncio.wait([self._job])

    def detach_all(self) -> list[Client]:
        """Forget all clients without telling anyone; gives those who were joined."""
        clients = list(self.audience.clients.values())
        self.audience.clients.clear()
        return clients

    def end_work(self) -> None:
        """Cancel what runs and what waits because the server ends (WIRE.md 11)."""
        self.stopping = True
        self._cancel_running("server_stopping")
        for request in list(self.queue.queued):
            self.cancel(request.request_id, "server_stopping")

    def close(self) -> None:
        """Stop everything and let go of the file."""
        self._stop_timers()
        self.snapshots.drop()
        if self._job is not None:
            self._job.cancel()
        self.log.close()

    def _pump(self) -> None:
        request = None if self.stopping else self.queue.start_next()
        if request is not None:
            self._event("requestStarted", request.entry(), self.queue.version)
            self._job = asyncio.create_task(self._run(request))

    async def _run(self, request: Request) -> None:
        async with self.command_lock:
            context = self._context = CommandContext(self, request)
            self.display.user_request(request.ref, request.text)
            try:
                await self._run_command(context)
            except Aborted:
                context.outcome.cancelled = True
            except WireError as error:
                context.show(text(f"ERROR: {error}", "error"))
            except Exception as error:
                logger.exception("a command failed")
                context.show(text(f"ERROR: {error}", "error"))
            await asyncio.sleep(0)  # the answer to the submit goes first, as it always did
            self.display.complete(request.ref, context.completion())
        self._context = self._job = None
        self.queue.finish()
        self._pump()

    def _cancel_running(self, reason: str) -> None:
        if self._context is not None and self.queue.mark_cancelled():
            request_id = self._context.request.request_id
            self._event("requestCancelled", request_id, reason, self.queue.version)
            self._context.abort()

    def _event(self, name: str, *args: Json) -> None:
        self.audience.send(name, list(args), Scope.UNFILTERED)

    def _send_snapshot(self) -> None:
        self._event("queueStateChanged", self.queue.snapshot())

    def _later_snapshot(self, send: Callable[[], None]) -> Callable[[], None]:
        return asyncio.get_running_loop().call_later(self.settings.coalesce_s, send).cancel

    def _no_clients(self) -> None:
        for request in list(self.queue.queued):
            self.cancel(request.request_id, "no_clients")
        self.prompts.cancel_of_requests()

    def _idle(self) -> None:
        if self.queue.idle:
            self._on_idle(self)
        else:
            loop = asyncio.get_running_loop()
            self._timers.append(loop.call_later(self.settings.idle_s, self._idle))

    def _stop_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
