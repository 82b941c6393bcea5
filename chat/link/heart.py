"""A process's heartbeat, and what it looks after at every beat."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from channels.layers import get_channel_layer
from django.conf import settings

from chat.db import in_db
from chat.link import company, lease
from chat.link.metrics import TAKEOVERS
from chat.link.tasks import cancelled, spawn, tolerantly

if TYPE_CHECKING:
    from chat.link.hub import Hub

BEATS_PER_TTL = 3
FENCE_AFTER_TTLS = 2 / 3
PRESENCE_TTLS = 3  # a page's process that was not heard of for this long has no pages


class Heart:
    """Says that the hub's process lives, fences all its links when others may believe that it
    does not, and finds by looking what no poke told.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._beating: asyncio.Task[None] | None = None
        self._fence_timer: asyncio.TimerHandle | None = None
        self._beat_at = hub.loop.time()

    @property
    def age_s(self) -> float:
        """How long ago the last beat was."""
        return self._hub.loop.time() - self._beat_at

    @property
    def is_fresh(self) -> bool:
        """Whether the last beat is not too old to own anything by it."""
        return self.age_s < self._hub.ttl.total_seconds() * FENCE_AFTER_TTLS

    async def start(self) -> None:
        """Make the process known, and beat from now on. Raises `MayNotServe`."""
        hub = self._hub
        began = hub.loop.time()
        await in_db(company.join, hub.process_id, hub.channel, hub.ttl, owns=hub.owns)
        self._alive_since(began)
        self._beating = spawn(self._beat_for_ever(), name="heartbeat")

    async def stop(self) -> None:
        """Beat no more, and fence nothing."""
        await cancelled(self._beating)
        if self._fence_timer is not None:
            self._fence_timer.cancel()

    async def beat_once(self) -> bool:
        """Beat between the regular beats, which come late where much is to do. False: the others
        have forgotten this process.
        """
        began = self._hub.loop.time()
        known = await in_db(lease.beat, self._hub.process_id)
        if known:
            self._alive_since(began)
        return known

    async def _beat_for_ever(self) -> None:
        while True:
            await tolerantly(self._beat(), "heartbeat")
            await asyncio.sleep(self._hub.ttl.total_seconds() / BEATS_PER_TTL)

    async def _beat(self) -> None:
        hub = self._hub
        began = hub.loop.time()
        if not await self.beat_once():
            self._fence_all()
            owns = hub.owns and not hub.closing
            await in_db(lease.register, hub.process_id, hub.channel, owns=owns)
            self._alive_since(began)
        await self._look_after_links()
        if not hub.closing:
            if hub.owns:
                for orphan in await in_db(lease.orphans, hub.ttl):
                    TAKEOVERS.inc(await hub.open(orphan))
            await self._look_after_pages()

    def _alive_since(self, began: float) -> None:
        """Others see that this process lives. If they did not for too long, they may own what
        is ours by now: a timer, for the database may also hang.
        """
        if self._fence_timer is not None:
            self._fence_timer.cancel()
        self._beat_at = began
        at = began + self._hub.ttl.total_seconds() * FENCE_AFTER_TTLS
        self._fence_timer = self._hub.loop.call_at(at, self._fence_all)

    async def _look_after_links(self) -> None:
        """Notice what pokes did not tell: a clear by a command, a takeover, an idle link."""
        hub = self._hub
        links = list(hub.links.items())  # one that is opened meanwhile is not in these rows
        rows = await in_db(lease.revisions, hub.process_id)
        await self._give_up_linkless({pk: epoch for pk, (epoch, _) in rows.items()})
        presence_s = hub.ttl.total_seconds() * PRESENCE_TTLS
        for pk, link in links:
            epoch, revision = rows.get(pk, (None, 0))
            if epoch != link.epoch:
                link.fence()
            elif revision > link.keeper.revision:
                link.poke()
            if pk in hub.pages:
                link.present(str(hub.process_id))
            if not link.wanted(presence_s, settings.LINK_LINGER_S):
                spawn(link.close(), name="close idle link", conversation=pk)
            await link.publisher.repeat()

    async def _give_up_linkless(self, epochs: dict[int, int]) -> None:
        """A link that was fenced, though nobody took over, has left its row behind: as long as
        this process lives no other could have the conversation.
        """
        for pk, epoch in epochs.items():
            if pk not in self._hub.links and not self._hub.claims:
                await in_db(lease.release, pk, self._hub.process_id, epoch)

    async def _look_after_pages(self) -> None:
        """Tell far owners that there are pages here; find a new owner where one died, and look
        where none can be heard.
        """
        hub = self._hub
        far = [pk for pk in hub.pages if pk not in hub.links]
        owners = await in_db(lease.living_owners, far, hub.ttl) if far else {}
        for pk in far:
            if pk not in hub.pages:
                continue  # closed meanwhile: its owner was told, and must not hear the opposite
            owner = owners.get(pk)
            if owner is not None and owner.process_id != hub.process_id:
                signed = hub.signed(pk, {"type": "owner.present"})
                await get_channel_layer().send(owner.channel, signed)
                if not get_channel_layer().broken:
                    continue
            for page in list(hub.pages.get(pk, ())):
                page.reattach()

    def _fence_all(self) -> None:
        for link in self._hub.links.values():
            link.fence()
