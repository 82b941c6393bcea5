"""A stand-in for a page: it knows only the patches that it was sent."""

from __future__ import annotations

from collections.abc import Sequence

from chat.display.blocks import render_exact
from chat.display.content import Segment
from chat.display.heal import heal
from chat.display.stream import Patch, StreamRenderer


class Reader:
    """Applies every patch of a renderer to its own list of blocks."""

    def __init__(self) -> None:
        self.renderer = StreamRenderer()
        self.page: list[str] = []
        self.received = 0  # characters

    def update(self, segments: Sequence[Segment], *, force: bool = False) -> None:
        self._apply(self.renderer.update(segments, force=force))

    def finish(self, segments: Sequence[Segment]) -> None:
        self._apply(self.renderer.finish(segments))

    def stream(self, words: str) -> list[str]:
        """Update with growing markdown; gives the exact blocks of what should be shown of it."""
        start = self.renderer._parts[0]._offset if self.renderer._parts else 0
        self.update([Segment("markdown", words)])
        return render_exact([Segment("markdown", words[:start] + heal(words[start:]))])

    @property
    def closed(self) -> list[str]:
        """The blocks of the first segment that the renderer will not look at again."""
        return self.renderer._parts[0]._closed

    def _apply(self, patch: Patch) -> None:
        before = len(self.page)
        for index, block in patch.changed:
            assert index <= len(self.page), "a block is missing before this one"
            self.page[index : index + 1] = [block]
            self.received += len(block)
        assert patch.shrunk == (patch.count < before)
        del self.page[patch.count :]
        assert len(self.page) == patch.count
