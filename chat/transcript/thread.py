"""How one request's output becomes bubbles: what joins, what replaces, what opens a new one.

Pure rules over parsed segments (CANVAS 15-24, 28-30): no I/O, no ORM, no HTML. The caller parses
the content and keeps one `Thread` for each request.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NotRequired, TypedDict

from chat.agentserver.events import Json
from chat.display.content import Segment, segment_from_json, segment_to_json
from chat.display.words import clean_text

MAX_STEPS = 999  # bubbles of one request: a place in the transcript has three digits for it
MAX_SOURCE_CHARS = 200
MAX_ICON_CHARS = 32
FALLBACK_ICON = "🤖"

ICONS = {
    "browser": "🌐",
    "calendar": "📅",
    "code": "⚛️",
    "email": "📩",
    "list": "📝",
    "player": "🎧",
    "settings": "⚙️",
    "shell": "🐚",
    "system": "⚙",
    "weather": "⛅",
}
"""Keyed by the lower-cased part of a source before its first dot (CANVAS 24)."""


class AppendMode(StrEnum):
    """How `appendDisplay` adds to what is there (CANVAS 17-20)."""

    BLOCK = "block"
    INLINE = "inline"
    TEMPORARY = "temporary"
    STEP = "step"


class BubbleRow(TypedDict):
    """A bubble as JSON. `closed`: the next output opens another one; when left out, `False`."""

    step: int
    segments: list[Any]
    source: str
    icon: str
    closed: NotRequired[bool]


@dataclass(slots=True)
class Bubble:
    """One agent bubble of a request; `step` counts from 1."""

    step: int
    segments: list[Segment] = field(default_factory=list)
    source: str = ""
    source_icon: str = ""
    action: str = ""
    sealed: bool = False

    @property
    def label(self) -> str:
        """The name to show: `schemaName.actionName` once an action is known, else the source."""
        return self.action or self.source

    @property
    def empty(self) -> bool:
        """Whether there is nothing to see, so that the bubble is to be hidden (CANVAS 19)."""
        return not any(segment.text.strip() for segment in self.segments)

    @property
    def lasting(self) -> bool:
        """Whether it holds more than a temporary."""
        return any(not segment.temporary for segment in self.segments)

    def flush(self) -> bool:
        """Drop the temporaries; whether that changed anything."""
        kept = [segment for segment in self.segments if not segment.temporary]
        changed = len(kept) != len(self.segments)
        self.segments = kept
        return changed


class Thread:
    """The bubbles of one request, in order.

    Every method returns the steps that it changed. A segment of `None` is an update without
    content: it clears when it replaces, and else does nothing, so that it takes no temporary away.
    """

    def __init__(self) -> None:
        self.bubbles: list[Bubble] = []
        self.completed = False
        self._closed_step = 0  # bubbles up to here are left alone by later output
        self._told = Bubble(step=0)  # what `set_info` said before there was a bubble

    def set_info(self, source: str, action: Json = None) -> set[int]:
        """Name the open bubble or, where there is none, the next one; never a sealed one."""
        bubble = self._current()
        if bubble is None or bubble.sealed:
            _inform(self._told, source, action)
            return set()
        return {bubble.step} if _inform(bubble, source, action) else set()

    def set_display(self, segment: Segment | None, source: str = "", icon: str = "") -> set[int]:
        """Replace what the current bubble shows, but no closed step (CANVAS 16)."""
        bubble = self._current()
        if segment is None:
            return _empty(bubble)
        bubble = bubble or self._open()
        _identify(bubble, source, icon)
        bubble.segments = [replace(segment, inline=False, temporary=False)]
        return {bubble.step}

    def append(
        self, segment: Segment | None, mode: Json = None, source: str = "", icon: str = ""
    ) -> set[int]:
        """Add to the current bubble as the mode says (CANVAS 17-20)."""
        if segment is None:
            return set()
        append_mode = parse_mode(mode)
        changed = self._make_room() if append_mode is AppendMode.STEP else set()
        bubble = self._current() or self._open()
        _identify(bubble, source, icon)
        # A temporary in between ends the run of inline pieces that stood before it.
        flushed = bubble.flush()
        _add(bubble, segment, append_mode, joins=append_mode is AppendMode.INLINE and not flushed)
        if append_mode is AppendMode.STEP:
            # A step is known by who reasons, not by an action (CANVAS 20).
            bubble.action = ""
            self._close(bubble)
        return changed | {bubble.step}

    def complete(self) -> set[int]:
        """End the request: temporaries go (a reload would not show them either), all is sealed.

        May be called again to take away what a late temporary left. Output that comes later still
        goes to the last bubble (DESIGN, Invariant 5).
        """
        changed = set()
        for bubble in self.bubbles:
            if bubble.flush() or not bubble.sealed:
                bubble.sealed = True
                changed.add(bubble.step)
        self.completed = True
        return changed

    def to_rows(self) -> list[BubbleRow]:
        """The bubbles as JSON, for `from_rows`."""
        return [
            BubbleRow(
                step=bubble.step,
                segments=[segment_to_json(segment) for segment in bubble.segments],
                source=bubble.label,
                icon=bubble.source_icon,
                closed=bubble.step <= self._closed_step,
            )
            for bubble in self.bubbles
        ]

    @classmethod
    def from_rows(cls, rows: Iterable[BubbleRow], *, completed: bool) -> Thread:
        """Rebuild a thread. Of a completed request everything is sealed (DESIGN, Invariant 6).

        A stored name that reads like an action's is kept when later output names its source.
        """
        thread = cls()
        for row in sorted(rows, key=lambda row: row["step"]):
            if thread.bubbles:
                thread._close(thread.bubbles[-1])
            bubble = Bubble(
                step=row["step"],
                segments=[segment_from_json(segment) for segment in row["segments"]],
                source=row["source"],
                source_icon=row["icon"],
                action=row["source"] if "." in row["source"] else "",
            )
            thread.bubbles.append(bubble)
            if row.get("closed", False):
                thread._close(bubble)
        if completed:
            thread.complete()
        return thread

    def _current(self) -> Bubble | None:
        """The bubble that output goes to, if there is one."""
        if not self.bubbles:
            return None
        last = self.bubbles[-1]
        full = last.step >= MAX_STEPS
        return last if full or last.step > self._closed_step else None

    def _open(self) -> Bubble:
        """A new bubble below, with the name that was told for it."""
        told, self._told = self._told, Bubble(step=0)
        step = self.bubbles[-1].step + 1 if self.bubbles else 1
        bubble = replace(told, step=step, segments=[], sealed=self.completed)
        self.bubbles.append(bubble)
        return bubble

    def _make_room(self) -> set[int]:
        """Close what stands, for a step has its own bubble; one with a temporary is reused."""
        bubble = self._current()
        if bubble is None or not bubble.lasting or bubble.step >= MAX_STEPS:
            return set()
        bubble.flush()
        self._close(bubble)
        return {bubble.step}

    def _close(self, bubble: Bubble) -> None:
        bubble.sealed = True
        self._closed_step = bubble.step


def parse_mode(value: Json) -> AppendMode:
    """The mode as sent; one that is unknown or left out is `block`."""
    text = value.strip().lower() if isinstance(value, str) else ""
    return AppendMode(text) if text in AppendMode else AppendMode.BLOCK


def ephemeral(kind: str | None) -> bool:
    """Whether the outer kind keeps a message out of its request's bubble (CANVAS 29, 30)."""
    return (kind or "").strip().lower() in ("toast", "inline")


def icon_for(source: str, sent: str = "") -> str:
    """The icon that was sent, else the one of the source (CANVAS 24)."""
    return _clip(sent, MAX_ICON_CHARS) or ICONS.get(_root(source), FALLBACK_ICON)


def action_label(action: Json) -> str:
    """`schemaName.actionName`, or nothing for anything that is not an action.

    The wire also sends lists of words such as `["request"]` there: they name no action.
    """
    if not isinstance(action, dict):
        return ""
    schema, name = action.get("schemaName"), action.get("actionName")
    if not (isinstance(schema, str) and isinstance(name, str) and schema and name):
        return ""
    return _clip(f"{schema}.{name}", MAX_SOURCE_CHARS)


def _add(bubble: Bubble, segment: Segment, mode: AppendMode, *, joins: bool) -> None:
    """Glue an inline piece to one of its sort; anything else is a section of its own."""
    joins = joins and segment.type != "structured"  # blocks are whole
    last = bubble.segments[-1] if joins and bubble.segments else None
    if last and last.inline and (last.type, last.kind) == (segment.type, segment.kind):
        last.text += segment.text
        return
    inline, temporary = mode is AppendMode.INLINE, mode is AppendMode.TEMPORARY
    bubble.segments.append(replace(segment, inline=inline, temporary=temporary))


def _empty(bubble: Bubble | None) -> set[int]:
    if bubble is None or not bubble.segments:
        return set()
    bubble.segments = []
    return {bubble.step}


def _inform(bubble: Bubble, source: str, action: Json) -> bool:
    """Take over what `setDisplayInfo` says; whether that changed the bubble's looks."""
    before = (bubble.label, bubble.source_icon)
    label = action_label(action)
    # An action says nothing about what another agent does after it.
    if label or _clip(source, MAX_SOURCE_CHARS) not in ("", bubble.source):
        bubble.action = label
    _identify(bubble, source, "")
    return before != (bubble.label, bubble.source_icon)


def _identify(bubble: Bubble, source: str, icon: str) -> None:
    """Take over who speaks. Without an icon, the same speaker keeps the one it has."""
    source = _clip(source, MAX_SOURCE_CHARS) or bubble.source
    if icon or source != bubble.source or not bubble.source_icon:
        bubble.source_icon = icon_for(source, icon)
    bubble.source = source


def _root(source: str) -> str:
    return source.split(".", 1)[0].lower()


def _clip(text: str, limit: int) -> str:
    return clean_text(text).strip()[:limit]
