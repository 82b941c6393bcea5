"""An open page without a browser and without a socket: attaches as the consumer does."""

from __future__ import annotations

import asyncio
from typing import Any

from channels.layers import get_channel_layer

from chat.link.hub import Hub
from chat.link.publisher import group_name
from tests.link.view import View
from tests.link.wait import until

ATTACH_AGAIN_S = 0.2


class Page(View):
    """Use `open`, then read `bubbles`, `text(...)` and the rest; `close` at the end."""

    def __init__(self, hub: Hub, conversation_id: int) -> None:
        super().__init__()
        self.hub = hub
        self.conversation_id = conversation_id
        self.pushes: list[dict[str, Any]] = []
        self.syncs = 0
        self.closed = False
        self.deaf = False
        """Lose every push from now on, as a layer may."""
        self._epoch: int | None = None
        self._number = 0
        self._held: list[dict[str, Any]] | None = []
        self._attaching: asyncio.Task[None] | None = None

    async def open(self) -> Page:
        """Attach and wait for the answer."""
        self._channel = await get_channel_layer().new_channel("page")
        await get_channel_layer().group_add(group_name(self.conversation_id), self._channel)
        self.hub.page_opened(self.conversation_id, self)
        self._listening = asyncio.create_task(self._listen())
        self.reattach()
        try:
            await until(lambda: self.syncs > 0, "the page is attached")
        except AssertionError:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Idempotent. Raises what was wrong with a push, if anything was."""
        if self.closed:
            return
        self.closed = True
        await self.hub.page_closed(self.conversation_id, self)
        await get_channel_layer().group_discard(group_name(self.conversation_id), self._channel)
        failure = self._listening.exception() if self._listening.done() else None
        for task in (self._listening, self._attaching):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if failure is not None:
            raise failure

    def reattach(self) -> None:
        self._held = []
        if self._attaching is None or self._attaching.done():
            self._attaching = asyncio.create_task(self._attach())

    async def _attach(self) -> None:
        while True:
            await self.hub.attach(self.conversation_id, self._channel, self.revision)
            await asyncio.sleep(ATTACH_AGAIN_S)

    async def _listen(self) -> None:
        while True:
            message = await get_channel_layer().receive(self._channel)
            match message["type"]:
                case "page.push" if not self.deaf:
                    self._push(message)
                case "page.synced":
                    self._synced(message)
                case "page.orphaned":
                    self.reattach()

    def _push(self, message: dict[str, Any]) -> None:
        self.pushes.append(message)
        if self._held is not None:
            self._held.append(message)
            return
        same = message["epoch"] == self._epoch
        if same and message["number"] <= self._number:
            return
        if same and message["number"] == self._number + 1:
            self._number += 1
            self._take(message)
        else:
            self.reattach()
            self._push(message)

    def _synced(self, message: dict[str, Any]) -> None:
        held = self._held
        if held is None or message["since"] != self.revision:
            return
        self._held = None
        if self._attaching is not None:
            self._attaching.cancel()
        self._epoch, self._number = message["epoch"], message["number"]
        self._take(message)
        self.syncs += 1
        for push in held:
            self._push(push)

    def _take(self, message: dict[str, Any]) -> None:
        self.revision = max(self.revision, message["revision"])
        self.apply(message["html"])
