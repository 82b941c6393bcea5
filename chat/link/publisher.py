"""Sends fragments to the pages of one conversation, numbered so that a page notices a gap."""

from __future__ import annotations

from typing import Any

from channels.layers import get_channel_layer


def group_name(conversation_id: int) -> str:
    """The group of a conversation's pages: made from its number, so it is always legal (C48)."""
    return f"conversation.{conversation_id}"


class Publisher:
    """Numbers every push within its epoch. The layer may lose any of them (Invariant 2)."""

    def __init__(self, conversation_id: int, epoch: int) -> None:
        self.conversation_id = conversation_id
        self.epoch = epoch
        self.number = 0

    async def push(self, html: str, revision: int) -> None:
        """To all pages. `revision`: up to where a page that gets this has everything."""
        self.number += 1
        await self._layer.group_send(
            group_name(self.conversation_id),
            {
                "type": "page.push",
                "epoch": self.epoch,
                "number": self.number,
                "html": html,
                "revision": revision,
            },
        )

    async def answer(self, reply_to: str, html: str, revision: int, number: int) -> None:
        """To the page that asked: all up to push `number` is contained."""
        await self._layer.send(
            reply_to,
            {
                "type": "page.synced",
                "epoch": self.epoch,
                "number": number,
                "html": html,
                "revision": revision,
            },
        )

    async def orphan(self) -> None:
        """Tell the pages that this owner is leaving: they attach to the next one."""
        await self._layer.group_send(
            group_name(self.conversation_id), {"type": "page.orphaned", "epoch": self.epoch}
        )

    @property
    def _layer(self) -> Any:
        return get_channel_layer()
