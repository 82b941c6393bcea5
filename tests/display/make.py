"""Short ways to make what the display tests need."""

from __future__ import annotations

import random
from collections.abc import Iterable

from chat.display.blocks import render_exact
from chat.display.content import Segment, parse_content
from chat.display.words import Json
from tests.display.dom import Dom


def text(words: str, kind: str | None = None, **flags: bool) -> Segment:
    return Segment("text", words, kind, **flags)


def markdown(words: str, kind: str | None = None, **flags: bool) -> Segment:
    return Segment("markdown", words, kind, **flags)


def drawn(*segments: Segment) -> Dom:
    return Dom(render_exact(segments))


def shown(content: Json) -> Dom:
    """What a page shows for a piece of content as it comes from the wire."""
    segment = parse_content(content)
    return drawn(segment) if segment else Dom("")


def grown(words: str, size: int = 1) -> Iterable[str]:
    """The words as they grow by chunks of a size, from nothing to all of them."""
    return (words[:length] for length in range(0, len(words) + size, size))


def paragraphs(size: int) -> str:
    """Markdown of at least a size, in paragraphs as a model writes them; always the same."""
    chosen = random.Random(1)  # noqa: S311 - only has to look like words
    words = ["word", "**bold**", "`code`", "[x](https://a.example)", "longer", "of"]
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        parts.append(" ".join(chosen.choices(words, k=40)) + "\n\n")
    return "".join(parts)
