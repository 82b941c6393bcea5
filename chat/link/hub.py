"""This process's links and pages: who owns what, who must be told, and when a link may go.

One hub per process. `startup` and `shutdown` belong to the server's life (`chatsite.asgi`);
`poke_soon` may be called from any thread.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID, uuid4

import structlog
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import DatabaseError

from chat.db import in_db
from chat.link import lease
from chat.link.link import Link
from chat.link.tasks import cancelled, spawn
from chat.models import Conversation

BEATS_PER_TTL = 3
FENCE_AFTER_TTLS = 2 / 3
PRESENCE_TTLS = 3  # a page's process that was not heard of for this long has no pages

log = structlog.get_logger(__name__)


class Page(Protocol):
    """An open page of this process, as the hub needs to know it."""

    def reattach(self) -> None:
        """Its owner is gone or changed: ask the next one for what was missed."""


class Hub:
    """Claims conversations, runs their links, and routes what pages ask to the owner."""

    def __init__(self) -> None:
        self.process_id: UUID = uuid4()
        self.links: dict[int, Link] = {}
        self.pages: dict[int, set[Page]] = {}
        self.channel = ""
        self.loop = asyncio.get_running_loop()
        self.ttl = timedelta(seconds=settings.OWNER_TTL_S)
        self._opening: dict[int, asyncio.Lock] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._last_beat = self.loop.time()
        self._closing = False

    async def start(self) -> None:
        """Be known, listen, and take up what a crash left behind."""
        self.channel = await get_channel_layer().new_channel("owner")
        await in_db(lease.register, self.process_id, self.channel)
        self._last_beat = self.loop.time()
        self._tasks = [
            spawn(self._listen(), name="owner channel"),
            spawn(self._beat_for_ever(), name="heartbeat"),
        ]

    async def stop(self) -> None:
        """Take no more work, flush and give up every link, be forgotten."""
        self._closing = True
        for task in self._tasks:
            await cancelled(task)
        await asyncio.gather(*(link.close() for link in list(self.links.values())))
        await in_db(lease.retire, self.process_id)

    def page_opened(self, conversation_id: int, page: Page) -> None:
        self.pages.setdefault(conversation_id, set()).add(page)

    async def page_closed(self, conversation_id: int, page: Page) -> None:
        """When it was this process's last page of the conversation, the owner is told."""
        pages = self.pages.get(conversation_id, set())
        pages.discard(page)
        if not pages and self.pages.pop(conversation_id, None) is not None:
            await self._to_living_owner(conversation_id, {"type": "owner.absent"})

    async def attach(self, conversation_id: int, reply_to: str, revision: int) -> None:
        """Have the owner bring a page up to date; become the owner if there is none."""
        await self.ask(
            conversation_id, {"type": "owner.attach", "reply_to": reply_to, "revision": revision}
        )

    async def ask(self, conversation_id: int, message: dict[str, Any]) -> None:
        """Pass a message to the owner, here or elsewhere; open a link if there is none."""
        if self._closing:
            return
        if conversation_id not in self.links and await self._to_living_owner(
            conversation_id, message
        ):
            return
        if await self.open(conversation_id):
            await self._handle({**self._signed(conversation_id, message)})

    async def open(self, conversation_id: int) -> bool:
        """Own the conversation and run its link; false if somebody else owns it or it is gone."""
        async with self._opening.setdefault(conversation_id, asyncio.Lock()):
            if conversation_id in self.links:
                return True
            if self._closing:
                return False
            epoch = await in_db(lease.claim, conversation_id, self.process_id, self.ttl)
            if epoch is None:
                return False
            conversation = await in_db(
                Conversation.objects.select_related("user").get, pk=conversation_id
            )
            self.links[conversation_id] = Link(
                conversation, process_id=self.process_id, epoch=epoch, on_ended=self._ended
            )
            return True

    async def _to_living_owner(self, conversation_id: int, message: dict[str, Any]) -> bool:
        """False if there is no living owner."""
        signed = self._signed(conversation_id, message)
        if conversation_id in self.links:
            await self._handle(signed)
            return True
        owners = await in_db(lease.living_owners, [conversation_id], self.ttl)
        owner = owners.get(conversation_id)
        if owner is None or owner.process_id == self.process_id:
            return False
        await get_channel_layer().send(owner.channel, signed)
        return True

    def _signed(self, conversation_id: int, message: dict[str, Any]) -> dict[str, Any]:
        return {**message, "conversation": conversation_id, "process": str(self.process_id)}

    async def _listen(self) -> None:
        layer = get_channel_layer()
        while True:
            await self._handle(await layer.receive(self.channel))

    async def _handle(self, message: dict[str, Any]) -> None:
        link = self.links.get(message["conversation"])
        if link is None:
            return
        match message["type"]:
            case "owner.attach":
                link.present(message["process"])
                work = link.sync(message["reply_to"], message["revision"])
                spawn(_tolerantly(work), name="sync")
            case "owner.present":
                link.present(message["process"])
            case "owner.absent":
                link.absent(message["process"])
            case "owner.retry":
                link.retry_now()
            case _:
                link.poke()

    def _ended(self, link: Link) -> None:
        pk = link.conversation.pk
        if self.links.get(pk) is link:
            del self.links[pk]
        for page in list(self.pages.get(pk, ())):
            page.reattach()

    async def _beat_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self.ttl.total_seconds() / BEATS_PER_TTL)
            try:
                await self._beat()
            except DatabaseError as error:
                log.warning("heartbeat failed", error=type(error).__name__)
            silent_s = self.loop.time() - self._last_beat
            if silent_s > self.ttl.total_seconds() * FENCE_AFTER_TTLS:
                self._fence_all()

    async def _beat(self) -> None:
        began = self.loop.time()
        if not await in_db(lease.beat, self.process_id):
            self._fence_all()
            await in_db(lease.register, self.process_id, self.channel)
        self._last_beat = began
        await self._look_after_links()
        for orphan in await in_db(lease.orphans, self.ttl):
            await self.open(orphan)
        await self._look_after_pages()

    async def _look_after_links(self) -> None:
        """Notice what pokes did not tell: a clear by a command, a takeover, an idle link."""
        rows = await in_db(lease.revisions, self.process_id)
        presence_s = self.ttl.total_seconds() * PRESENCE_TTLS
        for pk, link in list(self.links.items()):
            epoch, revision = rows.get(pk, (None, 0))
            if epoch != link.epoch:
                link.fence()
            elif revision > link.flusher.revision:
                link.poke()
            if pk in self.pages:
                link.present(str(self.process_id))
            if not link.wanted(presence_s, settings.LINK_LINGER_S):
                spawn(link.close(), name="close idle link")

    async def _look_after_pages(self) -> None:
        """Tell far owners that there are pages here; find a new owner where one died."""
        far = [pk for pk in self.pages if pk not in self.links]
        owners = await in_db(lease.living_owners, far, self.ttl) if far else {}
        for pk in far:
            owner = owners.get(pk)
            if owner is not None:
                signed = self._signed(pk, {"type": "owner.present"})
                await get_channel_layer().send(owner.channel, signed)
            else:
                for page in list(self.pages.get(pk, ())):
                    page.reattach()

    def _fence_all(self) -> None:
        for link in self.links.values():
            link.fence()


_hub: Hub | None = None


async def startup() -> None:
    """Begin to own conversations in this process. Idempotent."""
    global _hub
    if _hub is None:
        _hub = Hub()
        await _hub.start()


async def shutdown() -> None:
    """Flush and hand over everything. Idempotent."""
    global _hub
    hub, _hub = _hub, None
    if hub is not None:
        await hub.stop()


def current() -> Hub | None:
    """The hub of this process, if it serves pages."""
    return _hub


def poke_soon(conversation_id: int, kind: str = "owner.poke") -> None:
    """Tell the owner, from any thread, that rows were written. In a process that serves no
    pages this does nothing: owners also look by themselves, at every heartbeat.
    """
    hub = _hub
    if hub is not None:
        hub.loop.call_soon_threadsafe(
            lambda: spawn(hub.ask(conversation_id, {"type": kind}), name="poke")
        )


async def _tolerantly(work: Any) -> None:
    """A page that could not be answered asks again: a fault here is worth a line, not more."""
    try:
        await work
    except Exception as error:
        log.warning("sync failed", error=type(error).__name__)
