"""Segments to the safe HTML blocks that a bubble is made of: the exact render. Pure.

Long messages are many small blocks, so that a page and the wire carry only what changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape

from django.utils.safestring import SafeString, mark_safe

from chat.display.ansi import PLAIN, Pen, keep_colours_only, render_runs, strip_escapes
from chat.display.content import Segment, html_to_text
from chat.display.markdown import MAX_MARKDOWN_CHARS, block_markup, parse_blocks
from chat.display.sanitise import sanitise
from chat.display.structured.html import packed_markup

TEXT_BLOCK_CHARS = 2_000
"""A text block ends at the first blank line after this many characters."""

TEXT_BLOCK_MAX_CHARS = 4_000
"""Where there is no blank line: at the first line end after this many."""

ORDER_DIGITS = 6

_CARRIAGE_RETURN = re.compile(r"\r(?=\n)")
_BROKEN = re.compile("[\x00\ud800-\udfff]")


def render_user_text(text: str) -> SafeString:
    """What a user wrote, as one block: escaped, lines kept, links only where written out."""
    return sanitise(text_markup(presentable(text), PLAIN)[0])


def render_exact(segments: Sequence[Segment]) -> list[str]:
    """The blocks of a message, each safe HTML. It is what streaming must end with."""
    return [block for segment in segments for block in _segment_blocks(segment)]


def wrap_blocks(uid: str, blocks: Sequence[str]) -> SafeString:
    """The blocks in the elements by which a page finds and orders them. `blocks` are safe HTML."""
    name = escape(uid)
    return mark_safe(  # noqa: S308 - blocks passed the sanitiser, the rest is ours
        "".join(
            f'<div class="block" id="b-{name}-{index}" data-order="{index:0{ORDER_DIGITS}d}">'
            f"{block}</div>"
            for index, block in enumerate(blocks)
        )
    )


def presentable(text: str) -> str:
    """A text of the same length that can be parsed and encoded, whoever made the segment."""
    if "\r" in text:
        text = _CARRIAGE_RETURN.sub(" ", text).replace("\r", "\n")
    return text if text.isascii() and "\x00" not in text else _BROKEN.sub("\ufffd", text)


def drawn_as(segment: Segment) -> tuple[str, str]:
    """`text`, `markdown` or `structured`, and the words to draw in that way."""
    if segment.type == "html":
        return "text", html_to_text(segment.text)
    if segment.type == "markdown" and len(segment.text) > MAX_MARKDOWN_CHARS:
        return "text", segment.text
    return segment.type, segment.text


def finished_block(markup: str, kind: str | None, temporary: bool, *, first: bool) -> SafeString:
    """Markup in the look of its segment, sanitised. The kind is said once, not by colour alone."""
    classes = [f"kind kind-{kind}"] if kind else []
    if temporary:
        classes.append("temporary")
    if classes:
        said = f'<span class="visually-hidden">{kind.title()}: </span>' if kind and first else ""
        markup = f'<div class="{" ".join(classes)}">{said}{markup}</div>'
    return sanitise(markup)


def text_cut(text: str, start: int) -> int | None:
    """Where the text block that begins at `start` ends, or `None` while it may still grow."""
    paragraph = text.find("\n\n", start + TEXT_BLOCK_CHARS, start + TEXT_BLOCK_MAX_CHARS)
    if paragraph >= 0:
        return paragraph + 2
    line = text.find("\n", start + TEXT_BLOCK_MAX_CHARS)
    return line + 1 if line >= 0 else None


def text_markup(text: str, pen: Pen) -> tuple[str, Pen]:
    """One text block, and the pen for the next. A text without a visible character is nothing."""
    shown = keep_colours_only(text)
    body, after = render_runs(shown.strip("\n"), pen)
    if not strip_escapes(shown).strip():
        return "", after
    return f'<div class="text" dir="auto">{body}</div>', after


def _segment_blocks(segment: Segment) -> Iterator[str]:
    mode, text = drawn_as(segment)
    first = True
    for markup in _MARKUP[mode](presentable(text)):
        if markup:
            yield finished_block(markup, segment.kind, segment.temporary, first=first)
            first = False


def _markdown_markup(text: str) -> Iterator[str]:
    return map(block_markup, parse_blocks(text, {}))


def _text_markup(text: str) -> Iterator[str]:
    start, pen = 0, PLAIN
    while (cut := text_cut(text, start)) is not None:
        markup, pen = text_markup(text[start:cut], pen)
        yield markup
        start = cut
    yield text_markup(text[start:], pen)[0]


_MARKUP: dict[str, Callable[[str], Iterator[str]]] = {
    "markdown": _markdown_markup,
    "structured": packed_markup,
    "text": _text_markup,
}
"""By the mode that `drawn_as` tells."""
