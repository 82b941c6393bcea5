"""One socket to the agent-server: opened, joined, settled, and used until it is lost."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog
from django.conf import settings

from chat.agentserver.client import AgentServerClient, Joined
from chat.agentserver.errors import AgentServerError, ConnectionLost, InvokeTimedOut
from chat.agentserver.events import Event, QueueSnapshot
from chat.db import in_db
from chat.link import joining
from chat.link.flusher import Flusher
from chat.link.intake import Intake
from chat.link.metrics import drop_frame
from chat.link.outbox import Outbox
from chat.link.tasks import spawn
from chat.models import Conversation, LinkState, RequestState
from chat.transcript import conversations
from chat.transcript.live import LiveTranscript
from chat.transcript.live_request import LiveRequest

FRAME_TOO_BIG = 1009
MAX_FRAME_BYTES = 16 * 2**20

REPLACED_NOTICE = (
    "The earlier conversation no longer exists on the agent-server. This is a new one."
)

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Belongings:
    """What a link keeps from one socket to the next.

    `log_unreadable`: it holds something too large, so the next join does without it. `told_so`:
    the user was told. `erased`: requests whose transcript is gone, still to be stopped.
    """

    conversation: Conversation
    epoch: int
    live: LiveTranscript
    intake: Intake
    flusher: Flusher
    upstream_id: str
    log_unreadable: bool = False
    told_so: bool = False
    erased: dict[str, LiveRequest] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class Upstream:
    """Made anew for every attempt, so that nothing an old socket says can reach a newer one
    (Invariant 11). `show` is told where it is.
    """

    def __init__(self, mine: Belongings, show: Callable[[LinkState], Awaitable[None]]) -> None:
        self._mine = mine
        self._show = show
        self._lost: ConnectionLost | InvokeTimedOut | None = None
        self._ended = False
        self.joined_at: float | None = None
        """When it was joined (the loop's time)."""
        self._client = AgentServerClient(
            settings.TYPEAGENT_SERVER_URL,
            token=settings.TYPEAGENT_TUNNEL_TOKEN,
            on_event=self._take,
            on_close=self._closed,
            on_junk=drop_frame,
            context=contextvars.copy_context(),
            connect_timeout_s=settings.AGENT_CONNECT_TIMEOUT_S,
            invoke_timeout_s=settings.AGENT_INVOKE_TIMEOUT_S,
            ping_interval_s=settings.AGENT_PING_INTERVAL_S,
            max_frame_bytes=MAX_FRAME_BYTES,
        )

    async def run(self) -> None:
        """Until the connection is lost or of no more use, which is raised: an `AgentServerError`,
        `Fenced`, or a database error. May be cancelled at any moment.
        """
        self._mine.intake.hold()
        watch: asyncio.Task[None] | None = None
        try:
            await self._client.connect()
            await self._show(LinkState.JOINING)
            joined = await self._join()
            await self._settle(joined)
            self.joined_at = asyncio.get_running_loop().time()
            await self._show(LinkState.JOINED)
            watch = spawn(self._watch(joined.conversation_id), name="watch")
            await self._send(joined.conversation_id)
        except ConnectionLost:
            if isinstance(self._lost, ConnectionLost) and self._lost.code == FRAME_TOO_BIG:
                raise self._lost from None
            raise
        finally:
            self._ended = True
            if watch is not None:
                watch.cancel()
            self._mine.intake.hold()
            await self._client.close()

    async def _join(self) -> Joined:
        """The saved conversation, else the user's default one, whose id is saved at once."""
        mine = self._mine
        if mine.upstream_id:
            joined = await joining.join_saved(self._client, mine.upstream_id)
            if joined is not None:
                return joined
            await self._drop_transcript()
        joined = await joining.join_default(self._client, mine.conversation, mine.epoch)
        mine.upstream_id = joined.conversation_id
        mine.intake.keep_only(joined.conversation_id)
        return joined

    async def _drop_transcript(self) -> None:
        """The dead id is forgotten before the fallback: it is taken once (DESIGN)."""
        mine = self._mine
        await mine.flusher.flush()
        await in_db(
            conversations.orphan_transcript, mine.conversation.pk, mine.epoch, REPLACED_NOTICE
        )
        mine.upstream_id = ""
        mine.intake.restart()
        mine.live.restart()
        await mine.flusher.keeper.refresh()
        mine.erased.clear()  # they went with it

    async def _settle(self, joined: Joined) -> None:
        mine = self._mine
        await mine.intake.looked_up()
        await mine.flusher.keeper.refresh()  # a stop that nobody told of must not be sent first
        if mine.log_unreadable:
            mine.log_unreadable = False
            joining.settle_by_queue(joined, mine.live, mine.intake.held)
            mine.intake.release()
            return
        settled = await joining.settle(
            self._client,
            joined,
            mine.live,
            conversation_id=mine.conversation.pk,
            cursor=mine.intake.cursor,
            held=mine.intake.held,
        )
        mine.told_so = False
        mine.intake.merged(settled.newest)
        mine.intake.release(settled.logged, settled.merged)

    async def _send(self, upstream_id: str) -> None:
        """Hand in what waits, whenever something may."""
        mine = self._mine
        outbox = Outbox(self._client, upstream_id, mine.live, mine.erased)
        mine.wake.set()
        while True:
            await mine.wake.wait()
            mine.wake.clear()
            if self._lost is not None:
                raise self._lost
            await outbox.drain()
            mine.flusher.wake()

    async def _watch(self, upstream_id: str) -> None:
        """Ask again and again, for no frame tells that the conversation was deleted or that the
        agent-server is about to end: it is mute then, while its socket lives (WIRE.md 4, 11).
        """
        while self._lost is None:
            await asyncio.sleep(settings.AGENT_PING_INTERVAL_S)
            heard = self._client.events_delivered
            try:
                queue = await self._client.queue_snapshot(upstream_id)
            except InvokeTimedOut as silence:
                if self._client.events_delivered == heard:  # else the answer is behind all that
                    self._leave(silence)
            except AgentServerError:
                pass  # an end of the socket is told otherwise, and anything else is an answer
            else:
                if self._is_behind(queue):
                    log.warning("the queue lacks what runs here")
                    self._leave(ConnectionLost())

    def _is_behind(self, queue: QueueSnapshot) -> bool:
        """Whether the end of a request was missed, so that only another join can settle it."""
        known = {entry.request_id for entry in queue.entries()}
        return any(
            request.state != RequestState.PENDING and request.request_id not in known
            for request in self._mine.live.unfinished
        )

    def _leave(self, why: ConnectionLost | InvokeTimedOut) -> None:
        self._lost = self._lost or why
        self._mine.wake.set()

    def _take(self, event: Event) -> None:
        if not self._ended:
            self._mine.intake.take(event)

    def _closed(self, code: int | None) -> None:
        log.info("upstream closed", code=code)
        if not self._ended:
            self._leave(ConnectionLost(code))
