"""Draws what changed, tells the pages at most 25 times a second, and has it saved within 400 ms.

The bridge between `chat.transcript.live` (memory), the database and the pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from chat.db import in_db
from chat.link.fragments import (
    announce_html,
    changes_html,
    difference_since,
    revision_html,
    state_html,
)
from chat.link.keeper import Batch, Keeper
from chat.link.metrics import FAILED_SAVES, FLUSH_TIME, RENDER_TIME, SAVE_TIME
from chat.link.publisher import Publisher
from chat.link.status import Status
from chat.link.tasks import cancelled, spawn
from chat.transcript import painting, saving
from chat.transcript.drawing import Render
from chat.transcript.live import LiveTranscript
from chat.transcript.live_request import LiveRequest

COALESCE_S = 0.04
SAVE_WITHIN_S = 0.4
RETRY_S = 1.0
CATCH_UP_S = 0.3
"""After so long without more of it the held back end of a long block is drawn."""

HEAVY_CHARS = 20_000  # a render of this much takes over 5 ms: not on the loop
HEAVY_ROUNDS = 3  # while one is made more may come in
SPOKEN_CHARS = 2_000

log = structlog.get_logger(__name__)


class Flusher:
    """One per link. `on_fenced` is told when somebody else owns the conversation.

    All drawing is done in one place at a time, and all of a batch is drawn when it is taken: what
    a row says was pushed before, and what a page is answered contains all pushes up to a number.
    """

    def __init__(
        self,
        live: LiveTranscript,
        publisher: Publisher,
        keeper: Keeper,
        *,
        on_fenced: Callable[[], None],
    ) -> None:
        self.live = live
        self.publisher = publisher
        self.keeper = keeper
        self.status = Status()
        self._on_fenced = on_fenced
        self._wake = asyncio.Event()
        self._drawing = asyncio.Lock()
        self._saving: asyncio.Task[None] | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._unsaved_since: float | None = None
        self._last_push = 0.0
        self._shown: tuple[Status, bool] | None = None

    def wake(self) -> None:
        """Something changed in memory."""
        self._wake.set()

    async def run(self) -> None:
        """Until cancelled. Whatever fails delays this, and never ends it."""
        try:
            while True:
                await self._wake.wait()
                await self._pace()
                self._wake.clear()
                try:
                    await self._flush_some()
                except Exception:
                    log.exception("flush failed")
                    self.publisher.number += 1  # pages notice the gap, and ask
                    await asyncio.sleep(RETRY_S)
                    self.wake()
        finally:
            for timer in self._timers.values():
                timer.cancel()

    async def flush(self) -> None:
        """Publish and save all of it now.

        Raises `Fenced` or a database error: then nothing more was written.
        """
        async with self._drawing:
            await self._flush_all()

    async def sync(self, reply_to: str, revision: int) -> None:
        """Bring one page up to date from `revision`."""
        await self._pace()
        async with self._drawing:
            await self._flush_all()
            # No push is made meanwhile: it could set a block of this answer back.
            key, pk = self.live.conversation_key, self.publisher.conversation_id
            html, now_at = await in_db(difference_since, key, pk, revision)
            html += state_html(key, self.status, running=self.live.running)
            html += revision_html(now_at)
            await self.publisher.answer(reply_to, html, now_at, since=revision)

    async def end(self) -> None:
        """Stop what still saves in the background."""
        await cancelled(self._saving)

    async def _pace(self) -> None:
        left = self._last_push + COALESCE_S - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, left))

    async def _flush_some(self) -> None:
        async with self._drawing:
            with FLUSH_TIME.time():
                html, batch = await self._draw(self._is_due)
                if batch is not None:
                    self._saving = spawn(self._save_apart(batch), name="save")
                await self._push(html)
        self._look_again()

    async def _flush_all(self) -> None:
        if self._saving is not None:
            await asyncio.wait([self._saving])
        with FLUSH_TIME.time():
            html, batch = await self._draw(lambda: True)
            await self._push(html)
        if batch is not None:
            await self._save(batch)

    async def _draw(self, is_due: Callable[[], bool]) -> tuple[str, Batch | None]:
        """What pages need, and, if due, the rows that say the same: made without a pause."""
        renders = await self._render_heavy()
        parts: list[str] = []
        spoken: list[str] = []
        for request in [r for r in self.live.requests.values() if r.dirty]:
            with RENDER_TIME.time():
                changes = painting.draw(request, renders.get(request.request_id, ()))
            if changes:
                parts.append(changes_html(self.live.conversation_key, changes))
            if request.finished and not request.announced and request.seq is not None:
                request.announced = True
                log.info("request ended", request=request.request_id, state=request.state.value)
                spoken.append(request.spoken()[:SPOKEN_CHARS])
        parts += self._state_parts(spoken)
        if any(spoken):
            parts.append(announce_html(filter(None, spoken)))
        if self.publisher.revision != self.keeper.revision:
            self.publisher.revision = self.keeper.revision
            parts.append(revision_html(self.publisher.revision))
        return "".join(parts), self.keeper.take() if is_due() else None

    async def _render_heavy(self) -> dict[str, list[Render]]:
        """The renders that would hold up the loop, made in a thread."""
        made: dict[str, list[Render]] = {}
        for _ in range(HEAVY_ROUNDS):
            heavy = [
                (request.request_id, render)
                for request in self.live.requests.values()
                if request.dirty
                for render in painting.heavy(request, HEAVY_CHARS)
                if not any(map(render.is_like, made.get(request.request_id, ())))
            ]
            if not heavy:
                break
            for request_id, render in heavy:
                with RENDER_TIME.time():
                    await asyncio.to_thread(render.run)
                made.setdefault(request_id, []).append(render)
        return made

    async def _push(self, html: str) -> None:
        if html:
            self._last_push = asyncio.get_running_loop().time()
            await self.publisher.push(html)

    def _state_parts(self, spoken: list[str]) -> list[str]:
        """The connection and Stop, when they are not as the pages show them."""
        shown = (self.status, self.live.running)
        if shown == self._shown:
            return []
        if shown[1] and not (self._shown and self._shown[1]):
            spoken.append("Replying…")
        self._shown = shown
        return [state_html(self.live.conversation_key, shown[0], running=shown[1])]

    def _is_due(self) -> bool:
        """Whether something waited long enough to be saved, or is final."""
        if not self.keeper.due:
            self._unsaved_since = None
            return False
        time = asyncio.get_running_loop().time()
        self._unsaved_since = self._unsaved_since or time
        left = self._unsaved_since + SAVE_WITHIN_S - time
        if self._saving is not None:
            return False  # it wakes this when it is done
        if left > 0 and not self.keeper.urgent:
            self._later("save", left, self.wake)
            return False
        self._unsaved_since = None
        return True

    def _look_again(self) -> None:
        """Draw what was held back of long blocks, if nothing more comes of them for a while."""
        lagging = {r: r.version for r in self.live.requests.values() if r.lagging}
        if lagging:
            self._later("catch up", CATCH_UP_S, lambda: self._catch_up(lagging))

    def _catch_up(self, lagging: dict[LiveRequest, int]) -> None:
        for request, version in lagging.items():
            if request.version == version:
                request.catch_up()
        self.wake()

    def _later(self, name: str, delay: float, work: Callable[[], None]) -> None:
        if name in self._timers:
            self._timers[name].cancel()
        self._timers[name] = asyncio.get_running_loop().call_later(delay, work)

    async def _save(self, batch: Batch) -> None:
        try:
            with SAVE_TIME.time():
                await self.keeper.write(batch)
        except saving.Fenced:
            self._on_fenced()
            raise
        except Exception:
            FAILED_SAVES.inc()
            raise
        finally:
            self.wake()

    async def _save_apart(self, batch: Batch) -> None:
        """A save that runs beside publishing; one that fails is tried again."""
        try:
            await self._save(batch)
        except saving.Fenced:
            log.info("fenced")
        except Exception as error:
            log.warning("save failed", error=type(error).__name__)
            await asyncio.sleep(RETRY_S)
        finally:
            self._saving = None
            self.wake()
