"""Sends fragments to the pages of one conversation, numbered so that a page notices a gap."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from channels.layers import get_channel_layer

from chat.link.metrics import LOST_PUSHES

log = structlog.get_logger(__name__)


def group_name(conversation_id: int) -> str:
    """The group of a conversation's pages: made from its number, so it is always legal (C48)."""
    return f"conversation.{conversation_id}"


class Publisher:
    """Numbers every push within its epoch. The layer may lose any of them (Invariant 2), and be
    out of order altogether: neither is an error here, for a page that missed one asks.

    `revision`: up to where a page that has all pushes has everything.
    """

    def __init__(self, conversation_id: int, epoch: int, revision: int) -> None:
        self.conversation_id = conversation_id
        self.epoch = epoch
        self.revision = revision
        self.number = 0
        self._last: dict[str, Any] | None = None
        self._in_order = asyncio.Lock()

    async def push(self, html: str) -> None:
        """To all pages."""
        self.number += 1
        self._last = self._message("page.push", html, self.revision, self.number)
        await self._to_group(self._last)

    async def repeat(self) -> None:
        """The last push once more: a page that lost it would else not know until the next one."""
        last, self._last = self._last, None
        if last is not None:
            await self._to_group(last)

    async def answer(self, reply_to: str, html: str, revision: int, *, since: int) -> None:
        """To the page that asked, with what came `since`: all pushes so far are contained."""
        answer = self._message("page.synced", html, revision, self.number)
        await self._to_page(reply_to, {**answer, "since": since})

    async def tell_newest(self, reply_to: str) -> None:
        """To a page that wonders whether it has all: the number of the last push."""
        message = {"type": "page.newest", "epoch": self.epoch, "number": self.number}
        await self._to_page(reply_to, message)

    async def orphan(self) -> None:
        """Tell the pages that this owner has left: they attach to the next one."""
        await self._to_group({"type": "page.orphaned", "epoch": self.epoch})

    async def _to_page(self, reply_to: str, message: dict[str, Any]) -> None:
        try:
            await get_channel_layer().send(reply_to, message)
        except Exception as error:
            LOST_PUSHES.inc()
            log.warning("answer lost", error=type(error).__name__)

    async def _to_group(self, message: dict[str, Any]) -> None:
        async with self._in_order:
            try:
                await get_channel_layer().group_send(group_name(self.conversation_id), message)
            except Exception as error:
                LOST_PUSHES.inc()
                log.warning("push lost", error=type(error).__name__)

    def _message(self, kind: str, html: str, revision: int, number: int) -> dict[str, Any]:
        return {
            "type": kind,
            "epoch": self.epoch,
            "number": number,
            "html": html,
            "revision": revision,
        }
