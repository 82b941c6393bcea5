"""One conversation's upstream connection, from the claim to the release (DESIGN: The link's life).

`closed -> connecting -> joining -> joined -> (lost -> connecting)* -> closing -> closed`
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError

from chat.agentserver.client import AgentServerClient, Joined
from chat.agentserver.errors import AgentServerError, ConnectionLost, TunnelAuthFailed
from chat.db import in_db
from chat.link import joining, lease
from chat.link.flusher import Flusher
from chat.link.intake import Intake
from chat.link.outbox import Outbox
from chat.link.publisher import Publisher
from chat.link.status import Status
from chat.link.tasks import cancelled, spawn
from chat.models import Conversation, LinkState
from chat.transcript import reading, saving
from chat.transcript.live import LiveTranscript
from chat.transcript.live_request import LiveRequest

RETRY_FIRST_S = 0.5
RETRY_MAX_S = 15.0
RETRY_JITTER = 0.2
FRAME_TOO_BIG = 1009
MAX_FRAME_BYTES = 16 * 2**20

REPLACED_NOTICE = (
    "The earlier conversation no longer exists on the agent-server. This is a new one."
)
TOO_BIG_NOTICE = "The agent-server sent something larger than 16 MiB. It cannot be shown."

log = structlog.get_logger(__name__)


class Link:
    """Owned by one process under one epoch. `on_ended` is called once, when it is over."""

    def __init__(
        self,
        conversation: Conversation,
        *,
        process_id: UUID,
        epoch: int,
        on_ended: Callable[[Link], None],
    ) -> None:
        self.conversation = conversation
        self.process_id = process_id
        self.epoch = epoch
        self._on_ended = on_ended
        self.live = LiveTranscript(
            conversation.key, backfill_after_ms=conversation.backfill_after_ms
        )
        self.publisher = Publisher(conversation.pk, epoch)
        self.flusher = Flusher(
            self.live,
            self.publisher,
            revision=conversation.revision,
            cursor=conversation.history_cursor,
            on_cleared=self._stop_cleared,
            on_fenced=self.fence,
            on_refreshed=self._wake_outbox,
        )
        self._intake = Intake(
            conversation.pk,
            self.live,
            cursor=conversation.history_cursor,
            on_change=self._changed,
        )
        self._upstream_id = conversation.upstream_id
        self._client: AgentServerClient | None = None
        self._outbox: Outbox | None = None
        self._outbox_wake = asyncio.Event()
        self._refresh_wake = asyncio.Event()
        self._lost = asyncio.Event()
        self._retry = asyncio.Event()
        self._closing = asyncio.Event()
        self._fenced = False
        self._skip_history = False
        self._presence: dict[str, float] = {}
        self._idle_since = asyncio.get_running_loop().time()
        self.task = spawn(self._run(), name=f"link {conversation.pk}")

    # What others may ask of a link

    def poke(self) -> None:
        """Rows were written by somebody else. Carries no data: the database has it."""
        self._refresh_wake.set()

    def retry_now(self) -> None:
        """Do not wait for the next try."""
        self._retry.set()

    def present(self, process_id: str) -> None:
        """That process has pages of this conversation open."""
        self._presence[process_id] = asyncio.get_running_loop().time()

    def absent(self, process_id: str) -> None:
        self._presence.pop(process_id, None)

    async def sync(self, reply_to: str, revision: int) -> None:
        """Bring one page up to date."""
        await self.flusher.sync(reply_to, revision)

    def fence(self) -> None:
        """Somebody else may own the conversation: end at once and write nothing more."""
        self._fenced = True
        self._closing.set()
        self._lost.set()

    async def close(self) -> None:
        """Flush, leave, give the conversation up. Idempotent."""
        self._closing.set()
        self._lost.set()
        await asyncio.wait([self.task])

    def wanted(self, presence_s: float, linger_s: float) -> bool:
        """Whether the link must stay: a page, unfinished work or an open question holds it."""
        now = asyncio.get_running_loop().time()
        self._presence = {k: at for k, at in self._presence.items() if now - at < presence_s}
        if self._presence or self.live.running or self.live.interactions:
            self._idle_since = now
        return now - self._idle_since < linger_s

    # Its life

    async def _run(self) -> None:
        structlog.contextvars.bind_contextvars(conversation=self.conversation.pk)
        helpers = [
            spawn(self.flusher.run(), name="flusher"),
            spawn(self._refresh_when_poked(), name="refresh"),
        ]
        try:
            self.live.adopt(await in_db(reading.unfinished, self.conversation.pk))
            await self._live()
        finally:
            for helper in helpers:
                await cancelled(helper)
            await self._end()

    async def _live(self) -> None:
        attempt = 0
        while not self._closing.is_set():
            try:
                joined = await self._connect()
                attempt = 0
                await self._while_joined(joined)
                error = ""
            except TunnelAuthFailed as failure:
                await self._wait_for_retry(Status(LinkState.STOPPED, str(failure)), None)
                continue
            except saving.Fenced:
                self.fence()
                continue
            except AgentServerError as failure:
                error = str(failure)
            except DatabaseError:
                log.exception("database trouble")
                error = "The site's storage does not answer"
            finally:
                await self._disconnect()
            if not self._closing.is_set():
                delay = min(RETRY_FIRST_S * 2**attempt, RETRY_MAX_S)
                delay *= 1 + random.uniform(-RETRY_JITTER, RETRY_JITTER)  # noqa: S311 - not a secret
                attempt += 1
                await self._wait_for_retry(Status(LinkState.LOST, error, delay), delay)

    async def _connect(self) -> Joined:
        self._lost.clear()
        self._intake.hold()
        await self._show(Status(LinkState.CONNECTING, self.flusher.status.error))
        client = AgentServerClient(
            settings.TYPEAGENT_SERVER_URL,
            token=settings.TYPEAGENT_TUNNEL_TOKEN,
            on_event=self._intake.take,
            on_close=self._closed,
            connect_timeout_s=settings.AGENT_CONNECT_TIMEOUT_S,
            invoke_timeout_s=settings.AGENT_INVOKE_TIMEOUT_S,
            ping_interval_s=settings.AGENT_PING_INTERVAL_S,
            max_frame_bytes=MAX_FRAME_BYTES,
        )
        self._client = client
        await client.connect()
        await self._show(Status(LinkState.JOINING))
        joined = await self._join(client)
        logged = 0
        if not self._skip_history:
            newest, logged = await joining.settle(
                client,
                joined,
                self.live,
                conversation_id=self.conversation.pk,
                cursor=self._intake.cursor,
                waiting=self._intake.held,
            )
            self._intake.merged(newest)
        self._skip_history = False
        self._intake.release(logged)
        return joined

    async def _join(self, client: AgentServerClient) -> Joined:
        """The saved conversation, else the user's default one, whose id is saved at once."""
        joined = await joining.join_saved(client, self._upstream_id)
        if joined is not None:
            return joined
        pk = self.conversation.pk
        if self._upstream_id:
            self._upstream_id = ""
            self._intake.restart()
            await in_db(saving.orphan_transcript, pk, self.epoch)
            await in_db(saving.add_notice, pk, self.epoch, REPLACED_NOTICE)
            await self.flusher.refresh()
        joined = await joining.join_default(client, self.conversation)
        self._upstream_id = joined.conversation_id
        await in_db(saving.set_upstream, pk, self.epoch, joined.conversation_id, joined.name)
        return joined

    async def _while_joined(self, joined: Joined) -> None:
        assert self._client is not None  # noqa: S101 - set by _connect
        self._outbox = Outbox(self._client, joined.conversation_id, self.live)
        await self._show(Status(LinkState.JOINED))
        self._wake_outbox()
        sender = spawn(self._drain(self._outbox), name="outbox")
        try:
            await self._lost.wait()
        finally:
            self._outbox = None
            await cancelled(sender)

    async def _drain(self, outbox: Outbox) -> None:
        try:
            while True:
                await self._outbox_wake.wait()
                self._outbox_wake.clear()
                await outbox.drain()
                self.flusher.wake()
        except AgentServerError as error:
            log.info("connection given up", error=type(error).__name__)
            self._lost.set()

    async def _refresh_when_poked(self) -> None:
        while True:
            await self._refresh_wake.wait()
            self._refresh_wake.clear()
            try:
                await self.flusher.refresh()
            except Exception:
                log.exception("refresh failed")
                await asyncio.sleep(RETRY_FIRST_S)
                self._refresh_wake.set()

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        self._intake.hold()
        if client is not None:
            await client.close()

    async def _wait_for_retry(self, status: Status, delay: float | None) -> None:
        await self._show(status)
        self._retry.clear()
        waits = [
            spawn(self._retry.wait(), name="retry"),
            spawn(self._closing.wait(), name="closing"),
        ]
        await asyncio.wait(waits, timeout=delay, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            await cancelled(wait)

    async def _end(self) -> None:
        try:
            if not self._fenced:
                await self.flusher.flush()
                await self.publisher.orphan()
                await in_db(lease.release, self.conversation.pk, self.process_id, self.epoch)
        except saving.Fenced:
            log.info("fenced at the end")
        except Exception:
            log.exception("the last flush failed")
        finally:
            self._on_ended(self)

    async def _show(self, status: Status) -> None:
        self.flusher.status = status
        self.flusher.wake()
        if not self._fenced:
            await in_db(
                saving.set_link_state, self.conversation.pk, self.epoch, status.state, status.error
            )

    # What comes from upstream

    def _closed(self, code: int | None) -> None:
        log.info("upstream closed", code=code)
        if code == FRAME_TOO_BIG:
            self._skip_history = True
            spawn(self._notice(TOO_BIG_NOTICE), name="notice")
        self._lost.set()

    async def _notice(self, text: str) -> None:
        await in_db(saving.add_notice, self.conversation.pk, self.epoch, text)
        self.poke()

    def _changed(self) -> None:
        self.flusher.history_cursor = self._intake.cursor
        self.flusher.wake()

    def _wake_outbox(self) -> None:
        self._outbox_wake.set()

    def _stop_cleared(self, requests: list[LiveRequest]) -> None:
        if self._outbox is not None:
            for request in requests:
                spawn(self._stop_one(self._outbox, request), name="stop cleared")

    async def _stop_one(self, outbox: Outbox, request: LiveRequest) -> None:
        try:
            await outbox.stop_cleared(request)
        except ConnectionLost:
            log.info("could not stop a cleared request", request_id=request.request_id)
