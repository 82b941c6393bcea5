"""This process's links and pages: who owns what, who must be told, and when a link may go.

One hub per process. `startup` and `shutdown` belong to the server's life (`chatsite.asgi`);
`poke_soon` may be called from any thread.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID, uuid4
from weakref import WeakValueDictionary

import structlog
from channels.layers import get_channel_layer
from django.conf import settings

from chat import sqlite
from chat.db import in_db
from chat.link import lease
from chat.link.company import MayNotServe
from chat.link.heart import Heart
from chat.link.link import Link
from chat.link.metrics import CLAIMS
from chat.link.tasks import cancelled, spawn, tolerantly
from chat.models import Conversation

ASK_TIMES = 2  # an owner may come or go between the look and the claim
LISTEN_AGAIN_S = 0.5
START_AGAIN_S = 1.0

log = structlog.get_logger(__name__)


class Page(Protocol):
    """An open page of this process, as the hub needs to know it."""

    def reattach(self) -> None:
        """Its owner is gone or changed: ask the next one for what was missed."""


class Hub:
    """Claims conversations, runs their links, and routes what pages ask to the owner. One that
    does not own only routes, and has a relay claim what nobody owns.

    A layer or a database that fails loses a message here, never a task: pages ask again, and
    the heartbeat finds what pokes did not tell.
    """

    def __init__(self, *, owns: bool = True) -> None:
        self.owns = owns
        self.process_id: UUID = uuid4()
        self.links: dict[int, Link] = {}
        self.pages: dict[int, set[Page]] = {}
        self.channel = ""
        self.loop = asyncio.get_running_loop()
        self.ttl = timedelta(seconds=settings.OWNER_TTL_S)
        self._opening: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._claiming: set[asyncio.Task[bool]] = set()
        self._listener: asyncio.Task[None] | None = None
        self._echoes: dict[str, asyncio.Future[None]] = {}
        self.heart = Heart(self)
        self.closing = False

    async def start(self) -> None:
        """Be known, listen, and take up what a crash left behind.

        Raises `MayNotServe` beside a process with which this one cannot share the site.
        """
        self.channel = await get_channel_layer().new_channel("owner")
        await self.heart.start()
        self._listener = spawn(self._listen(), name="owner channel")

    async def stop(self) -> None:
        """Take no more work, flush and give up every link, be forgotten.

        The heart beats until that is done: nobody may take over what is not saved yet.
        """
        self.closing = True
        await tolerantly(in_db(lease.step_down, self.process_id), "step down")
        await cancelled(self._listener)
        if self._claiming:
            await asyncio.wait(self._claiming)
        await asyncio.gather(*(link.close() for link in list(self.links.values())))
        await self.heart.stop()
        await in_db(lease.retire, self.process_id)

    def page_opened(self, conversation_id: int, page: Page) -> None:
        self.pages.setdefault(conversation_id, set()).add(page)

    async def page_closed(self, conversation_id: int, page: Page) -> None:
        """When it was this process's last page of the conversation, the owner is told."""
        pages = self.pages.get(conversation_id, set())
        pages.discard(page)
        if not pages and self.pages.pop(conversation_id, None) is not None:
            await tolerantly(
                self._to_living_owner(conversation_id, {"type": "owner.absent"}), "absent"
            )

    async def attach(self, conversation_id: int, reply_to: str, revision: int) -> None:
        """Have the owner bring a page up to date; become the owner if there is none. May fail
        silently: the page asks until it is answered.
        """
        message = {"type": "owner.attach", "reply_to": reply_to, "revision": revision}
        await tolerantly(self.ask(conversation_id, message), "attach")

    async def check(self, conversation_id: int, reply_to: str) -> None:
        """Have the owner say how many pushes there were: a page may have lost the last ones."""
        message = {"type": "owner.check", "reply_to": reply_to}
        await tolerantly(self.ask(conversation_id, message), "check")

    async def ask(self, conversation_id: int, message: dict[str, Any]) -> None:
        """Pass a message to the owner, here or elsewhere; have a link opened if there is none."""
        for _ in range(ASK_TIMES):
            if self.closing or await self._to_living_owner(conversation_id, message):
                return
            if not self.owns:
                await self._to_relay(conversation_id, message)
                return
            if await self.open(conversation_id):
                await self._to_living_owner(conversation_id, message)
                return

    async def open(self, conversation_id: int) -> bool:
        """Own the conversation and run its link; false if somebody else owns it or it is gone.

        A caller that is cancelled leaves nothing half claimed.
        """
        task = spawn(self._open(conversation_id), name="claim", conversation=conversation_id)
        self._claiming.add(task)
        task.add_done_callback(self._claiming.discard)
        return await asyncio.shield(task)

    @property
    def claims(self) -> bool:
        """Whether a conversation is being claimed: it may be ours, and have no link yet."""
        return bool(self._claiming)

    async def _open(self, conversation_id: int) -> bool:
        async with self._opening.setdefault(conversation_id, asyncio.Lock()):
            if conversation_id in self.links:
                return True
            if self.closing:
                return False
            try:
                if not await self.heart.beat_once():
                    return False
                epoch = await in_db(lease.claim, conversation_id, self.process_id, self.ttl)
                rows = Conversation.objects.select_related("user").filter(pk=conversation_id)
                conversation = None if epoch is None else await in_db(rows.first)
            except Exception as error:
                log.warning("claim failed", error=type(error).__name__)
                return False
            if epoch is None or conversation is None or not self.heart.is_fresh:
                return False  # by an old beat: all that is not fenced may have a new owner by now
            self.links[conversation_id] = Link(
                conversation, process_id=self.process_id, epoch=epoch, on_ended=self._ended
            )
            CLAIMS.inc()
            return True

    async def echo(self) -> None:
        """Send a message through the layer to this process itself, and wait until it comes."""
        name = uuid4().hex
        heard = self._echoes[name] = self.loop.create_future()
        try:
            await get_channel_layer().send(self.channel, {"type": "owner.echo", "name": name})
            await heard
        finally:
            del self._echoes[name]

    async def _to_living_owner(self, conversation_id: int, message: dict[str, Any]) -> bool:
        """False if there is no living owner."""
        signed = self.signed(conversation_id, message)
        if conversation_id in self.links:
            self._handle(signed)
            return True
        owners = await in_db(lease.living_owners, [conversation_id], self.ttl)
        owner = owners.get(conversation_id)
        if owner is None or owner.process_id == self.process_id:
            return False
        await get_channel_layer().send(owner.channel, signed)
        return True

    async def _to_relay(self, conversation_id: int, message: dict[str, Any]) -> None:
        """It opens the link. A page learns when no relay lives, and goes on asking."""
        channel = await in_db(lease.idlest, self.ttl)
        if channel is not None:
            signed = self.signed(conversation_id, message)
            await get_channel_layer().send(channel, {**signed, "open": True})
        elif "reply_to" in message:
            await get_channel_layer().send(message["reply_to"], {"type": "page.unowned"})

    def signed(self, conversation_id: int, message: dict[str, Any]) -> dict[str, Any]:
        return {"process": str(self.process_id), **message, "conversation": conversation_id}

    async def _listen(self) -> None:
        while True:
            try:
                self._handle(await get_channel_layer().receive(self.channel))
            except Exception as error:
                log.warning("owner channel failed", error=type(error).__name__)
                await asyncio.sleep(LISTEN_AGAIN_S)

    def _handle(self, message: dict[str, Any]) -> None:
        if message["type"] == "owner.echo":
            echo = self._echoes.get(message["name"])
            if echo is not None and not echo.done():
                echo.set_result(None)
            return
        conversation_id = message["conversation"]
        link = self.links.get(conversation_id)
        if link is None:
            if message.pop("open", False):
                spawn(tolerantly(self.ask(conversation_id, message), "open"), name="open")
            return
        match message["type"]:
            case "owner.attach":
                link.present(message["process"])
                work = link.sync(message["reply_to"], message["revision"])
                spawn(tolerantly(work, "sync"), name="sync", conversation=link.conversation.pk)
            case "owner.check":
                spawn(
                    link.publisher.tell_newest(message["reply_to"]),
                    name="check",
                    conversation=link.conversation.pk,
                )
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


_hub: Hub | None = None


async def startup(*, relay: bool = False) -> None:
    """Begin to own conversations in this process, or to route to those that do, as soon as layer
    and database answer.
    """
    global _hub
    while _hub is None:
        hub = Hub(owns=relay or settings.LINK_OWNERS == "web")
        try:
            await in_db(sqlite.hold_open)
            await hub.start()
        except MayNotServe as refused:
            log.error("not started yet", reason=str(refused))
            await asyncio.sleep(START_AGAIN_S)
        except Exception as error:
            log.warning("not started yet", error=type(error).__name__)
            await asyncio.sleep(START_AGAIN_S)
        else:
            _hub = hub


async def shutdown() -> None:
    """Flush and hand over everything. Idempotent."""
    global _hub
    hub, _hub = _hub, None
    if hub is not None:
        await hub.stop()
    await in_db(sqlite.let_go)


def current() -> Hub | None:
    """The hub of this process, if it serves pages."""
    return _hub


def poke_soon(conversation_id: int, kind: str = "owner.poke") -> None:
    """Tell the owner, from any thread, that rows were written. In a process that serves no
    pages this does nothing: owners also look by themselves, at every heartbeat.
    """
    hub = _hub
    if hub is None:
        return

    def poke() -> None:
        asked = tolerantly(hub.ask(conversation_id, {"type": kind}), kind)
        spawn(asked, name=kind, conversation=conversation_id)

    hub.loop.call_soon_threadsafe(poke)
