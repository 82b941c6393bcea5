"""How an agent bubble stands on open pages, and what they must be told of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.utils.timezone import now

from chat.display.blocks import render_exact
from chat.display.content import Segment, plain_text
from chat.display.stream import Patch, StreamRenderer
from chat.transcript.bubbles import BubbleView

USER_STEP = 0
"""The step of the question; answers count from 1."""


class Looks(NamedTuple):
    """All of a bubble but its text: a change of it draws the bubble as a whole."""

    state: str
    source: str
    source_icon: str
    note: str
    can_retry: bool


@dataclass(slots=True)
class Drawing:
    """How one agent bubble stands on the pages: what was drawn, and what is due.

    `looks` are those that the pages have; `None` when the whole bubble is due.
    """

    renderer: StreamRenderer = field(default_factory=StreamRenderer)
    blocks: list[str] = field(default_factory=list)
    exact: bool = False
    words: str = ""
    """What the exact render says, without markup."""
    changed_blocks: dict[int, str] = field(default_factory=dict)
    looks: Looks | None = None
    shown: bool = False
    chars: int = 0  # of the text that was rendered last; 0 when none of it can be kept
    created_at: datetime = field(default_factory=now)

    def restart(self) -> None:
        """Nothing of what was drawn is of use for what comes."""
        self.renderer, self.exact, self.looks, self.chars = StreamRenderer(), False, None, 0

    def take_patch(self, patch: Patch) -> None:
        """Take over what the renderer changed."""
        self.blocks = list(self.renderer.blocks)
        if patch.shrunk:
            self.looks = None
        self.changed_blocks.update(patch.changed)

    def take_exact(self, render: Render) -> bool:
        """Take over the exact render; whether it differs from what was drawn before."""
        self.exact, self.words = True, render.words
        if render.blocks is None or render.blocks == self.blocks:
            return False
        self.blocks, self.looks = render.blocks, None
        return True


@dataclass(slots=True)
class Render:
    """A render that would hold up the event loop: `run` it in a thread, then hand it to `draw`.

    It works on a copy of the text. `renderer` is `None` for the exact render.
    """

    step: int
    segments: list[Segment]
    renderer: StreamRenderer | None
    patch: Patch | None = None
    blocks: list[str] | None = None
    words: str = ""

    def is_like(self, other: Render) -> bool:
        """Whether the other one would give nothing new."""
        same = self.step == other.step and self.renderer is other.renderer
        return same and self.segments == other.segments

    def run(self) -> None:
        if self.renderer is None:
            self.blocks = render_exact(self.segments)
            self.words = plain_text(self.segments)
        else:
            self.patch = self.renderer.update(self.segments)


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
