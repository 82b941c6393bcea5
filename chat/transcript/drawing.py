"""How an agent bubble stands on open pages, and what they must be told of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.utils.timezone import now

from chat.display.stream import StreamRenderer
from chat.transcript.bubbles import BubbleView

USER_STEP = 0
"""The step of the question; answers count from 1."""


@dataclass(slots=True)
class Drawing:
    """How one agent bubble stands on the pages: what was drawn, and what is due."""

    renderer: StreamRenderer = field(default_factory=StreamRenderer)
    blocks: list[str] = field(default_factory=list)
    exact: bool = False
    whole: bool = True
    changed_blocks: dict[int, str] = field(default_factory=dict)
    shown: bool = False
    created_at: datetime = field(default_factory=now)


@dataclass(frozen=True, slots=True)
class BlockPatch:
    """One block of a bubble that a page already has."""

    uid: str
    index: int
    html: str


@dataclass(slots=True)
class Changes:
    """What pages must be told: whole bubbles, single blocks, and bubbles that are gone."""

    bubbles: list[BubbleView] = field(default_factory=list)
    blocks: list[BlockPatch] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.bubbles or self.blocks or self.gone)
