"""In place of the hub, for tests of the page's socket: it answers only when a test says so."""

from __future__ import annotations

import asyncio
from typing import Any

from channels.layers import get_channel_layer

from chat.link.publisher import group_name
from tests.processes import PATIENCE_S


class FakeOwner:
    """`asked` are the questions of pages, as (channel to answer to, revision); `newest` is the
    number of the last push, for a page that wants to know.
    """

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.asked: list[tuple[str, int]] = []
        self.opened: list[int] = []
        self.closed: list[int] = []
        self.newest = 10
        self._told = asyncio.Condition()

    def page_opened(self, conversation_id: int, page: object) -> None:
        self.opened.append(conversation_id)

    async def page_closed(self, conversation_id: int, page: object) -> None:
        self.closed.append(conversation_id)

    async def attach(self, conversation_id: int, reply_to: str, revision: int) -> None:
        async with self._told:
            self.asked.append((reply_to, revision))
            self._told.notify_all()

    async def check(self, conversation_id: int, reply_to: str) -> None:
        message = {"type": "page.newest", "epoch": 1, "number": self.newest}
        await get_channel_layer().send(reply_to, message)

    async def question(self, number: int) -> tuple[str, int]:
        """The `number`-th question of a page, waiting for it if need be."""
        async with asyncio.timeout(PATIENCE_S), self._told:
            await self._told.wait_for(lambda: len(self.asked) >= number)
        return self.asked[number - 1]

    async def answer(self, question: int, html: str, *, number: int, **fields: Any) -> None:
        """Answer a question: all up to push `number` is contained."""
        reply_to, since = await self.question(question)
        message = {"type": "page.synced", "epoch": 1, "revision": 1, "number": number, "html": html}
        await get_channel_layer().send(reply_to, message | {"since": since} | fields)

    async def push(self, conversation_id: int, html: str, *, number: int, **fields: Any) -> None:
        """Push to all pages of a conversation."""
        message = {"type": "page.push", "epoch": 1, "revision": 1, "number": number, "html": html}
        await get_channel_layer().group_send(group_name(conversation_id), message | fields)

    async def orphan(self, conversation_id: int) -> None:
        """Say that this owner leaves."""
        message = {"type": "page.orphaned", "epoch": 1}
        await get_channel_layer().group_send(group_name(conversation_id), message)
