"""One conversation's upstream connection, from the claim to the release (DESIGN: The link's life).

`closed -> connecting -> joining -> joined -> (lost -> connecting)* -> closing -> closed`
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

import structlog

from chat.agentserver.errors import AgentServerError, ConnectionLost, TunnelAuthFailed
from chat.db import in_db
from chat.link import lease
from chat.link.flusher import Flusher
from chat.link.intake import Intake
from chat.link.keeper import Keeper
from chat.link.metrics import FENCES, RECONNECTS, drop_frame
from chat.link.publisher import Publisher
from chat.link.status import Status
from chat.link.tasks import cancelled, spawn, tolerantly
from chat.link.upstream import FRAME_TOO_BIG, Belongings, Upstream
from chat.models import Conversation, LinkState, Origin
from chat.transcript import conversations
from chat.transcript.live import LiveTranscript
from chat.transcript.live_request import LiveRequest
from chat.transcript.saving import Fenced

RETRY_FIRST_S = 0.5
RETRY_MAX_S = 15.0
RETRY_JITTER = 0.2
STABLE_S = 10.0  # a connection that lasted so long did not fail: the next try is soon
LAST_TRIES = 6  # to save the rest, while the database does not answer
LAST_RETRY_S = 0.5

TOO_BIG_NOTICE = "The agent-server sent something larger than 16 MiB. It cannot be shown."
SITE_FAULT = "The site has a problem of its own. It tries again."

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
        self._closing = asyncio.Event()
        self._refresh = asyncio.Event()
        self._retry = asyncio.Event()
        self._fenced = False
        self._adopted = False
        self._presence: dict[str, float] = {}
        self._loop = asyncio.get_running_loop()
        self._idle_since = self._loop.time()
        self._attempt: asyncio.Task[Status | None] | None = None
        self._furnish()
        self.task = spawn(self._run(), name=f"link {conversation.pk}")

    def _furnish(self) -> None:
        pk, cursor = self.conversation.pk, self.conversation.history_cursor
        mark = self.conversation.backfill_after_ms
        self.live = LiveTranscript(self.conversation.key, backfill_after_ms=mark)
        intake = Intake(pk, self.live, cursor=cursor, on_change=lambda: self.flusher.wake())
        self.publisher = Publisher(pk, self.epoch, self.conversation.revision)
        self.keeper = Keeper(
            self.live,
            self.publisher,
            revision=self.conversation.revision,
            cursor=lambda: intake.cursor,
            on_erased=self._stop_erased,
            on_refreshed=self._others_wrote,
        )
        self.flusher = Flusher(self.live, self.publisher, self.keeper, on_fenced=self.fence)
        self._mine = Belongings(
            conversation=self.conversation,
            epoch=self.epoch,
            live=self.live,
            intake=intake,
            flusher=self.flusher,
            upstream_id=self.conversation.upstream_id,
        )

    # What others may ask of a link

    def poke(self) -> None:
        """Rows were written by somebody else. Carries no data: the database has it."""
        self._refresh.set()

    def retry_now(self) -> None:
        """Do not wait for the next try."""
        self._retry.set()

    def present(self, process_id: str) -> None:
        """That process has pages of this conversation open."""
        self._presence[process_id] = self._loop.time()

    def absent(self, process_id: str) -> None:
        self._presence.pop(process_id, None)

    async def sync(self, reply_to: str, revision: int) -> None:
        """Bring one page up to date; at the end of the link it is left to the next owner."""
        if not self._closing.is_set():
            await self.flusher.sync(reply_to, revision)

    def fence(self) -> None:
        """Somebody else may own the conversation: end at once and write nothing more."""
        if not self._fenced:
            FENCES.inc()
        self._fenced = True
        self._leave()

    async def close(self) -> None:
        """Flush, leave, give the conversation up. Idempotent."""
        self._leave()
        await asyncio.wait([self.task])

    def wanted(self, presence_s: float, linger_s: float) -> bool:
        """Whether the link must stay: a page, unfinished work or an open question holds it."""
        now = self._loop.time()
        self._presence = {k: at for k, at in self._presence.items() if now - at < presence_s}
        if self._presence or self.live.running or self.live.interactions:
            self._idle_since = now
        return now - self._idle_since < linger_s

    # Its life

    def _leave(self) -> None:
        if self._closing.is_set():
            return  # a second cancellation would cut the closing handshake off
        self._closing.set()
        self._retry.set()
        if self._attempt is not None:
            self._attempt.cancel()

    async def _run(self) -> None:
        structlog.contextvars.bind_contextvars(conversation=self.conversation.pk)
        helpers = [
            spawn(self.flusher.run(), name="flusher"),
            spawn(self._refresh_when_poked(), name="refresh"),
        ]
        try:
            await self._live()
        finally:
            for helper in helpers:
                await cancelled(helper)
            await self._end()

    async def _live(self) -> None:
        failures = 0
        while not self._closing.is_set():
            self._retry.clear()
            upstream = Upstream(self._mine, self._show_state)
            self._attempt = spawn(self._try(upstream), name="upstream")
            await asyncio.wait([self._attempt])
            if self._closing.is_set():
                return
            status = self._attempt.result()
            joined_at = upstream.joined_at
            if joined_at is not None and self._loop.time() - joined_at >= STABLE_S:
                failures = 0
            if status.state == LinkState.STOPPED:
                delay = None
            else:
                delay = min(RETRY_FIRST_S * 2**failures, RETRY_MAX_S)
                delay *= 1 + random.uniform(-RETRY_JITTER, RETRY_JITTER)  # noqa: S311 - no secret
            failures += 1
            retry_at = time.monotonic() + delay if delay is not None else 0
            await self._show(Status(status.state, status.error, retry_at))
            with suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._retry.wait()
            RECONNECTS.inc(not self._closing.is_set())

    async def _try(self, upstream: Upstream) -> Status:
        """Connect, and stay until that ends: what to show then. Every fault but a cancellation
        of this is one that passes.
        """
        try:
            await self._show_state(LinkState.CONNECTING)
            if not self._adopted:
                await self.keeper.adopt()
                self._adopted = True
            await upstream.run()
        except TunnelAuthFailed as failure:
            return Status(LinkState.STOPPED, str(failure))
        except Fenced:
            self.fence()
        except ConnectionLost as lost:
            if lost.code == FRAME_TOO_BIG:
                drop_frame("oversized")
                self._mine.log_unreadable = True
                await self._tell_of_size()
        except AgentServerError as failure:
            return Status(LinkState.LOST, str(failure))
        except Exception:
            log.exception("the link failed")
            return Status(LinkState.LOST, SITE_FAULT)
        return Status(LinkState.LOST)

    async def _refresh_when_poked(self) -> None:
        while True:
            await self._refresh.wait()
            self._refresh.clear()
            try:
                await self.keeper.refresh()
            except Conversation.DoesNotExist:
                self.fence()
                return
            except Exception as error:
                log.warning("refresh failed", error=type(error).__name__)
                await asyncio.sleep(RETRY_FIRST_S)
                self._refresh.set()

    async def _end(self) -> None:
        await self._mine.intake.end()
        if not self._fenced:
            await self._hand_over()
        await self.flusher.end()
        self._on_ended(self)
        if not self._fenced:
            await self.publisher.orphan()

    async def _hand_over(self) -> None:
        """Save the rest and give the conversation up, if that can be had in a few tries."""
        for _ in range(LAST_TRIES):
            try:
                await self.flusher.flush()
                await in_db(lease.release, self.conversation.pk, self.process_id, self.epoch)
            except Fenced:
                return
            except Exception as error:
                log.warning("the last flush failed", error=type(error).__name__)
                await asyncio.sleep(LAST_RETRY_S)
            else:
                return

    async def _show_state(self, state: LinkState) -> None:
        error = self.flusher.status.error if state != LinkState.JOINED else ""
        await self._show(Status(state, error))

    async def _show(self, status: Status) -> None:
        """For pages at once; for the database it may be lost."""
        self.flusher.status = status
        self.flusher.wake()
        pk, epoch = self.conversation.pk, self.epoch
        saving = in_db(conversations.set_link_state, pk, epoch, status.state, status.error)
        await tolerantly(saving, "link state")

    async def _tell_of_size(self) -> None:
        """Once: the log, which has it too, may be met again at every join."""
        if self._mine.told_so:
            return
        self._mine.told_so = True
        pk, epoch = self.conversation.pk, self.epoch
        await tolerantly(in_db(conversations.add_notice, pk, epoch, TOO_BIG_NOTICE), "notice")
        self.poke()

    # What the database told

    def _others_wrote(self) -> None:
        self.flusher.wake()
        self._mine.wake.set()

    def _stop_erased(self, requests: list[LiveRequest]) -> None:
        """What other clients asked goes on, unseen here."""
        own = [request for request in requests if request.origin == Origin.USER]
        self._mine.erased |= {request.request_id: request for request in own}
        self._mine.wake.set()
