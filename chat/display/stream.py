"""Renders a message while it grows, at a cost that is linear in its length (see C75). Pure.

What can no longer change is rendered once; only the open end is rendered again (C74). A
`StreamRenderer` belongs to one message and to one thread at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from chat.display.ansi import PLAIN
from chat.display.blocks import (
    TEXT_BLOCK_MAX_CHARS,
    drawn_as,
    finished_block,
    presentable,
    render_exact,
    text_cut,
    text_markup,
)
from chat.display.content import Segment
from chat.display.heal import heal
from chat.display.markdown import Block, References, block_markup, parse_blocks
from chat.display.structured.html import packed_markup

OPEN_BLOCK_FREE_CHARS = 2_000
"""An open block up to this size is rendered again at every update."""

OPEN_BLOCK_GROWTH = 32
"""A longer one only when it has grown by this fraction of itself, so that the sum stays linear."""

REFERENCE_BUDGET_FACTOR = 4
REFERENCE_BUDGET_CHARS = 20_000
"""How much may be rendered again for late link references: factor x length + constant."""


@dataclass(slots=True)
class Patch:
    """What an update changed: blocks by index, how many there are now, and whether fewer."""

    changed: list[tuple[int, str]] = field(default_factory=list)
    count: int = 0
    shrunk: bool = False


class StreamRenderer:
    """The blocks of one growing message.

    `lagging` tells that an update held back the end of a very long open block; `force` shows it.
    """

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._blocks: list[str] = []

    @property
    def blocks(self) -> list[str]:
        """The blocks as last rendered, each safe HTML."""
        return self._blocks

    @property
    def lagging(self) -> bool:
        return any(part.lagging for part in self._parts)

    def update(self, segments: Sequence[Segment], *, force: bool = False) -> Patch:
        """Render what is new. Any change is right; growth at the end is what is cheap."""
        last = len(segments) - 1
        start = same = 0
        for part, segment in zip(self._parts, segments, strict=False):
            if not part.shows(segment, is_last=same == last) or (force and part.lagging):
                break
            start += part.count
            same += 1
        old, self._parts = self._parts[same:], self._parts[:same]
        fresh: list[str] = []
        for index, segment in enumerate(segments[same:]):
            part = _part_for(segment, old[index] if index < len(old) else None)
            kept = part.grow(segment, is_last=same + index == last, force=force)
            if index == 0:
                start += kept
            fresh += part.blocks_from(kept if index == 0 else 0)
            self._parts.append(part)
        return self._replace(start, fresh)

    def finish(self, segments: Sequence[Segment]) -> Patch:
        """The exact render; the patch is empty where streaming came to the same (DESIGN.md)."""
        self._parts = []
        return self._replace(0, render_exact(segments))

    def _replace(self, start: int, fresh: list[str]) -> Patch:
        old = self._blocks[start:]
        self._blocks[start:] = fresh
        changed = [
            (start + index, block)
            for index, block in enumerate(fresh)
            if index >= len(old) or old[index] != block
        ]
        return Patch(changed, len(self._blocks), len(fresh) < len(old))


class _Part(ABC):
    """The blocks of one segment: the closed ones, and the open ones at its end."""

    mode = ""
    free_chars = 0

    def __init__(self, segment: Segment) -> None:
        self.kind = segment.kind
        self.temporary = segment.temporary
        self.lagging = False
        self._type = segment.type
        self._source = ""  # the segment's own text, as last seen
        self._text = ""  # the text drawn, as last rendered
        self._is_last = True
        self._closed: list[str] = []
        self._open: list[str] = []
        self._offset = 0  # where in the text the open blocks begin

    @property
    def count(self) -> int:
        return len(self._closed) + len(self._open)

    def blocks_from(self, index: int) -> list[str]:
        return self._closed[index:] + self._open[max(0, index - len(self._closed)) :]

    def shows(self, segment: Segment, *, is_last: bool) -> bool:
        """Whether nothing has to be done for this segment."""
        return (
            self._is_last == is_last
            and self._has_look_of(segment)
            and (self._source is segment.text or self._source == segment.text)
        )

    def may_become(self, segment: Segment) -> bool:
        """Whether what is closed here is right for this segment too."""
        mode, text = drawn_as(segment)
        return self._has_look_of(segment) and self.mode == mode and text.startswith(self._text)

    def grow(self, segment: Segment, *, is_last: bool, force: bool) -> int:
        """Render what came to the end; gives how many leading blocks stayed as they were."""
        text = drawn_as(segment)[1]
        length, grown = len(text) - self._offset, len(text) - len(self._text)
        self._source = segment.text
        self.lagging = (
            is_last
            and not force
            and self._is_last
            and length > self.free_chars
            and 0 < grown < length // OPEN_BLOCK_GROWTH
        )
        if self.lagging:
            return self.count
        self._text, self._is_last = text, is_last
        return self._render(text, is_last)

    @abstractmethod
    def _render(self, text: str, is_last: bool) -> int:
        """Close what can be closed, render the rest; gives how many leading blocks stayed."""

    def _has_look_of(self, segment: Segment) -> bool:
        return (self._type, self.kind, self.temporary) == (
            segment.type,
            segment.kind,
            segment.temporary,
        )

    def _finished(self, markup: str, index: int) -> str:
        return finished_block(markup, self.kind, self.temporary, first=index == 0)


class _TextPart(_Part):
    mode = "text"
    free_chars = TEXT_BLOCK_MAX_CHARS

    def __init__(self, segment: Segment) -> None:
        super().__init__(segment)
        self._pen = PLAIN  # at the end of what is closed

    def _render(self, text: str, is_last: bool) -> int:
        kept = len(self._closed)
        while (cut := text_cut(text, self._offset)) is not None:
            markup, self._pen = text_markup(presentable(text[self._offset : cut]), self._pen)
            self._offset = cut
            if markup:
                self._closed.append(self._finished(markup, len(self._closed)))
        markup = text_markup(presentable(text[self._offset :]), self._pen)[0]
        self._open = [self._finished(markup, len(self._closed))] if markup else []
        return kept


class _MarkdownPart(_Part):
    mode = "markdown"
    free_chars = OPEN_BLOCK_FREE_CHARS

    def __init__(self, segment: Segment) -> None:
        super().__init__(segment)
        self._references: References = {}  # from what is closed
        self._with_bracket: list[tuple[int, str]] = []  # closed blocks that may hold a reference
        self._rendered_again = 0  # characters

    def _render(self, text: str, is_last: bool) -> int:
        kept = len(self._closed)
        tail = presentable(text[self._offset :])
        if is_last:
            tail = heal(tail)
        references = dict(self._references)
        blocks = parse_blocks(tail, references)
        lines = tail.split("\n")
        closing = _count_closed(blocks, lines)
        markup = [
            self._finished(block_markup(block), kept + index) for index, block in enumerate(blocks)
        ]
        self._open = markup[closing:]
        if not closing:
            return kept
        self._close(blocks[:closing], markup[:closing], lines)
        end = blocks[closing - 1].end
        self._offset += sum(len(line) + 1 for line in lines[:end])
        new = {
            label: found
            for label, found in references.items()
            if label not in self._references and found["map"][1] <= end
        }
        self._references.update(new)
        return min(kept, self._render_again(len(text))) if new else kept

    def _close(self, blocks: Sequence[Block], markup: Sequence[str], lines: Sequence[str]) -> None:
        for block, html in zip(blocks, markup, strict=True):
            source = "\n".join(lines[block.start : block.end])
            if "[" in source:
                self._with_bracket.append((len(self._closed), source))
            self._closed.append(html)

    def _render_again(self, length: int) -> int:
        """Closed blocks may refer to what was defined only now. Gives the first that changed."""
        first = len(self._closed)
        cost = sum(len(source) for _, source in self._with_bracket)
        budget = REFERENCE_BUDGET_FACTOR * length + REFERENCE_BUDGET_CHARS
        if self._rendered_again + cost > budget:
            return first  # the exact render at the end puts it right
        self._rendered_again += cost
        for index, source in self._with_bracket:
            blocks = parse_blocks(source, dict(self._references))
            html = self._finished(block_markup(blocks[0]), index) if blocks else ""
            if html != self._closed[index]:
                self._closed[index] = html
                first = min(first, index)
        return first


class _StructuredPart(_Part):
    """It comes as a whole and never grows: another one is another part."""

    mode = "structured"

    def may_become(self, segment: Segment) -> bool:
        return False

    def _render(self, text: str, is_last: bool) -> int:
        markup = filter(None, packed_markup(presentable(text)))
        self._closed = [self._finished(each, index) for index, each in enumerate(markup)]
        return 0


def _part_for(segment: Segment, old: _Part | None) -> _Part:
    if old is not None and old.may_become(segment):
        return old
    return _PARTS[drawn_as(segment)[0]](segment)


_PARTS: dict[str, type[_Part]] = {
    part.mode: part for part in (_TextPart, _MarkdownPart, _StructuredPart)
}


def _count_closed(blocks: Sequence[Block], lines: Sequence[str]) -> int:
    """How many leading blocks no further text can change.

    A block is closed when the one after it has two whole lines (a table needs its second line to
    be one), or when a whole blank line follows and it is not of a kind that goes on after that.
    """
    whole = len(lines) - 1
    for index in reversed(range(len(blocks))):
        end = blocks[index].end
        if blocks[index].is_leaf and end < whole and not lines[end].strip(" \t"):
            return index + 1
        if index + 1 < len(blocks) and blocks[index + 1].start + 1 < whole:
            return index + 1
    return 0
