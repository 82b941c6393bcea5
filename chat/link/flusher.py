"""Draws what changed, tells the pages at most 25 times a second, and saves it within 400 ms.

The bridge between `chat.transcript.live` (memory), the database and the pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog
from django.db import DatabaseError

from chat.db import in_db
from chat.display.blocks import render_exact
from chat.link.fragments import (
    announce_html,
    bubbles_html,
    changes_html,
    difference_html,
    revision_html,
    state_html,
)
from chat.link.publisher import Publisher
from chat.link.status import Status
from chat.link.tasks import spawn
from chat.transcript import reading, saving
from chat.transcript.bubbles import BubbleView
from chat.transcript.live import LiveTranscript
from chat.transcript.live_request import LiveRequest

COALESCE_S = 0.04
SAVE_WITHIN_S = 0.4
SAVE_RETRY_S = 1.0
HEAVY_CHARS = 20_000  # an exact render of this much takes over 5 ms: not on the loop
SPOKEN_CHARS = 2_000

log = structlog.get_logger(__name__)


class Flusher:
    """One per link. `on_cleared` gets the requests that were erased while they ran, `on_fenced`
    is told when somebody else owns the conversation, `on_refreshed` when rows of others came in.
    """

    def __init__(
        self,
        live: LiveTranscript,
        publisher: Publisher,
        *,
        revision: int,
        cursor: int,
        on_cleared: Callable[[list[LiveRequest]], None],
        on_fenced: Callable[[], None],
        on_refreshed: Callable[[], None],
    ) -> None:
        self.live = live
        self.publisher = publisher
        self.revision = revision
        self.status = Status()
        self.history_cursor = cursor
        self._saved_cursor = cursor
        self._on_cleared, self._on_fenced, self._on_refreshed = on_cleared, on_fenced, on_refreshed
        self._wake = asyncio.Event()
        self._lock = asyncio.Lock()
        self._saving: asyncio.Task[None] | None = None
        self._unsaved_since: float | None = None
        self._last_push = 0.0
        self._shown: tuple[Status, bool] | None = None
        self._told_revision = revision

    def wake(self) -> None:
        """Something changed in memory."""
        self._wake.set()

    async def run(self) -> None:
        """Until cancelled. A failing database delays saving and never ends this."""
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            await asyncio.sleep(max(0.0, self._last_push + COALESCE_S - loop.time()))
            self._wake.clear()
            async with self._lock:
                await self._publish()
                self._save_when_due()

    async def flush(self) -> int:
        """Publish and save all of it now; the number of the last push that the rows contain.

        Raises `Fenced` or a database error: then nothing more was written.
        """
        if self._saving is not None:
            await asyncio.wait([self._saving])
        async with self._lock:
            await self._publish()
            number = self.publisher.number
            await self._save()
        return number

    async def sync(self, reply_to: str, revision: int) -> None:
        """Bring one page up to date from `revision`."""
        number = await self.flush()
        live = self.live
        difference = await in_db(reading.changed_since, self.publisher.conversation_id, revision)
        html = (
            difference_html(live.conversation_key, difference)
            + state_html(live.conversation_key, self.status, running=live.running)
            + revision_html(difference.revision)
        )
        await self.publisher.answer(reply_to, html, difference.revision, number)

    async def refresh(self) -> None:
        """Take in what others wrote: new requests, stops, a clear, a retry."""
        conversation_id = self.publisher.conversation_id
        difference = await in_db(reading.changed_since, conversation_id, self.revision)
        stored = await in_db(reading.unfinished, conversation_id)
        if difference.reset:
            await self._drop_cleared()
        self.live.adopt(stored)
        foreign = [bubble for bubble in difference.bubbles if not self._take_back(bubble)]
        key = self.live.conversation_key
        html = difference_html(key, difference) if difference.reset else bubbles_html(key, foreign)
        if html:
            await self.publisher.push(html, self._told_revision)
        self.revision = max(self.revision, difference.revision)
        self._on_refreshed()
        self.wake()

    def _take_back(self, bubble: BubbleView) -> bool:
        """A row of a request that is in memory: memory is newer, so it is drawn from there."""
        request = self.live.requests.get(bubble.request_id)
        if request is None:
            return False
        request.retried = request.retried or (bool(bubble.note) and not bubble.can_retry)
        request.redraw(bubble.step)
        return True

    async def _drop_cleared(self) -> None:
        stored = {rid for rid, request in self.live.requests.items() if request.stored}
        known = await in_db(reading.known_ids, self.publisher.conversation_id, stored)
        self._on_cleared(self.live.forget(stored - known))

    async def _publish(self) -> None:
        parts: list[str] = []
        spoken: list[str] = []
        for request in [r for r in self.live.requests.values() if r.dirty]:
            changes = request.draw(await _render_heavy(request))
            if changes:
                parts.append(changes_html(self.live.conversation_key, changes))
            if request.finished and not request.announced and request.seq is not None:
                request.announced = True
                spoken.append(request.plain_answer()[:SPOKEN_CHARS])
        parts += self._state_parts(spoken)
        if spoken:
            parts.append(announce_html(spoken))
        if self._told_revision != self.revision:
            self._told_revision = self.revision
            parts.append(revision_html(self.revision))
        if parts:
            self._last_push = asyncio.get_running_loop().time()
            await self.publisher.push("".join(parts), self._told_revision)

    def _state_parts(self, spoken: list[str]) -> list[str]:
        """The connection and Stop, when they are not as the pages show them."""
        shown = (self.status, self.live.running)
        if shown == self._shown:
            return []
        if shown[1] and not (self._shown and self._shown[1]):
            spoken.append("Replying…")
        self._shown = shown
        return [state_html(self.live.conversation_key, shown[0], running=shown[1])]

    def _save_when_due(self) -> None:
        """Start a save if something waited long enough, or is final; else come back in time."""
        due = [request for request in self.live.requests.values() if request.dirty_for_save]
        cursor_due = self.history_cursor != self._saved_cursor
        if not due and not (cursor_due and not self.live.running):
            self._unsaved_since = None
            return
        loop = asyncio.get_running_loop()
        if self._unsaved_since is None:
            self._unsaved_since = loop.time()
        left = self._unsaved_since + SAVE_WITHIN_S - loop.time()
        if left > 0 and not any(request.finished or not request.stored for request in due):
            loop.call_later(left, self.wake)
        elif self._saving is None:
            self._saving = spawn(self._save_apart(), name="save")

    async def _save_apart(self) -> None:
        """A save that runs beside publishing; a failing database only delays it."""
        try:
            await self._save()
        except saving.Fenced:
            self._on_fenced()
        except DatabaseError as error:
            log.warning("save failed", error=type(error).__name__)
            await asyncio.sleep(SAVE_RETRY_S)
        finally:
            self._saving = None
            self.wake()

    async def _save(self) -> None:
        due = [
            request
            for request in self.live.requests.values()
            if request.dirty_for_save and (not request.dirty or request.seq is None)
        ]
        cursor = self.history_cursor
        if not due and cursor == self._saved_cursor:
            return
        self._unsaved_since = None
        taken = [(request, *request.take_rows()) for request in due]
        messages = [message for _, _, rows in taken for message in rows]
        try:
            saved = await in_db(
                saving.save,
                self.publisher.conversation_id,
                self.publisher.epoch,
                [row for _, row, _ in taken],
                messages,
                cursor,
            )
        except DatabaseError:
            for request, _, rows in taken:
                request.put_back(rows)
            raise
        self._saved_cursor = cursor
        for request, _, _ in taken:
            request.stored = True
            request.seq = saved.seqs.get(request.request_id, request.seq)
        if saved.gone:
            self._on_cleared(self.live.forget(saved.gone))
        self.live.trim()
        if saved.revision == self.revision + 1:
            self.revision = saved.revision
        else:
            await self.refresh()


async def _render_heavy(request: LiveRequest) -> dict[int, list[str]]:
    """The exact renders that would hold up the loop, made in a thread."""
    exact = {}
    for step, segments in request.heavy():
        if sum(len(segment.text) for segment in segments) > HEAVY_CHARS:
            exact[step] = await asyncio.to_thread(render_exact, segments)
    return exact
