"""Moves rows between memory and the database: saves what changed, takes in what others wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from chat.db import in_db
from chat.link.fragments import bubbles_html, difference_html
from chat.link.publisher import Publisher
from chat.transcript import reading, saving
from chat.transcript.bubbles import BubbleView
from chat.transcript.live import LiveTranscript
from chat.transcript.live_request import LiveRequest


@dataclass(slots=True)
class Batch:
    """Rows as they were when everything in memory was drawn, and the log position they go with."""

    taken: list[tuple[LiveRequest, saving.RequestRow, list[saving.MessageRow]]]
    cursor: int


class Keeper:
    """One per link. Reads and writes wait in line, so memory is never set back to an older row.

    `revision` is that of the rows that memory and the pushes so far contain. `cursor` gives the
    position in the agent-server's log behind which nothing is unfinished. `on_erased` gets the
    requests that were erased while they ran, `on_refreshed` is told when rows of others came in.
    """

    def __init__(
        self,
        live: LiveTranscript,
        publisher: Publisher,
        *,
        revision: int,
        cursor: Callable[[], int],
        on_erased: Callable[[list[LiveRequest]], None],
        on_refreshed: Callable[[], None],
    ) -> None:
        self.live = live
        self.publisher = publisher
        self.revision = revision
        self._cursor = cursor
        self._saved_cursor = cursor()
        self._on_erased, self._on_refreshed = on_erased, on_refreshed
        self._line = asyncio.Lock()

    @property
    def due(self) -> bool:
        """Whether anything is unsaved."""
        unsaved = any(request.dirty_for_save for request in self.live.requests.values())
        return unsaved or self._cursor() != self._saved_cursor

    @property
    def urgent(self) -> bool:
        """Whether it should be saved at once: something has ended, or has no place yet."""
        return any(
            request.unsaved and (request.finished or not request.stored)
            for request in self.live.requests.values()
        )

    def take(self) -> Batch | None:
        """All that is unsaved; `write` must follow. Everything must be drawn when it is called."""
        if not self.due:
            return None
        due = [request for request in self.live.requests.values() if request.dirty_for_save]
        return Batch([(request, *request.take_rows()) for request in due], self._cursor())

    async def write(self, batch: Batch) -> None:
        """Save the batch, or have all of it due again.

        Raises `Fenced` when another process has taken over, or a database error.
        """
        try:
            async with self._line:
                await self._write(batch)
        except BaseException:
            for request, _, messages in batch.taken:
                request.put_back(messages)
            raise

    async def refresh(self) -> None:
        """Take in what others wrote: new requests, stops, a clear, a retry."""
        async with self._line:
            await self._refresh()

    async def adopt(self) -> None:
        """Take up what an earlier owner left unfinished, and may have handed in."""
        async with self._line:
            self.live.adopt(await in_db(reading.unfinished, self.publisher.conversation_id))
        for request in self.live.unfinished:
            request.attempted = True

    async def _write(self, batch: Batch) -> None:
        conversation_id, epoch = self.publisher.conversation_id, self.publisher.epoch
        if not batch.taken:
            await in_db(saving.save_cursor, conversation_id, epoch, batch.cursor)
            self._saved_cursor = batch.cursor
            return
        saved = await in_db(
            saving.save,
            conversation_id,
            epoch,
            [row for _, row, _ in batch.taken],
            [message for _, _, rows in batch.taken for message in rows],
            batch.cursor,
        )
        self._saved_cursor = batch.cursor
        for request, _, _ in batch.taken:
            request.stored = True
            request.seq = saved.seqs.get(request.request_id, request.seq)
        if saved.gone:
            self._on_erased(self.live.forget(saved.gone))
        self.live.trim()
        if saved.revision == self.revision + 1:
            self.revision = saved.revision
        else:
            await self._refresh()

    async def _refresh(self) -> None:
        conversation_id = self.publisher.conversation_id
        difference = await in_db(reading.changed_since, conversation_id, self.revision)
        stored = await in_db(reading.unfinished, conversation_id)
        if difference.reset:
            await self._drop_erased()
        self.live.adopt(stored)
        foreign = [bubble for bubble in difference.bubbles if not self._take_back(bubble)]
        key = self.live.conversation_key
        html = difference_html(key, difference) if difference.reset else bubbles_html(key, foreign)
        if html:
            await self.publisher.push(html)
        self.revision = max(self.revision, difference.revision)
        self._on_refreshed()

    async def _drop_erased(self) -> None:
        conversation_id = self.publisher.conversation_id
        self.live.backfill_after_ms = await in_db(reading.backfill_mark, conversation_id)
        stored = {rid for rid, request in self.live.requests.items() if request.stored}
        known = await in_db(reading.known_ids, conversation_id, stored)
        self._on_erased(self.live.forget(stored - known))

    def _take_back(self, bubble: BubbleView) -> bool:
        """A row of a request that is in memory: memory is newer, so it is drawn from there."""
        request = self.live.requests.get(bubble.request_id)
        if request is None:
            return False
        request.retried = request.retried or (bool(bubble.note) and not bubble.can_retry)
        request.redraw(bubble.step)
        return True
