"""Whatever an agent sends as content, reduced to a segment of one type. Pure, never raises.

Content that is not drawn as such (html, frames, blocks that are none) gives its best alternate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Literal, cast

from chat.display.ansi import CSI, strip_escapes
from chat.display.markdown import MAX_MARKDOWN_CHARS, markdown_to_text
from chat.display.sanitise import KINDS
from chat.display.structured.fallback import to_markdown, to_text
from chat.display.structured.reading import (
    MAX_FALLBACK_CELLS,
    NO_STRUCTURED,
    TOO_LARGE,
    count_cells,
    pack,
    read_blocks,
    unpack,
)
from chat.display.words import Json, as_text, clean_text

type SegmentType = Literal["text", "markdown", "html", "structured"]

SEGMENT_TYPES: tuple[SegmentType, ...] = ("text", "markdown", "html", "structured")
ALTERNATE_ORDER: tuple[SegmentType, ...] = ("markdown", "text", "html")

NO_RICH = "Rich content is not supported in this client yet."

MAX_TYPE_CHARS = 40
"""How much of an unknown type's name a notice repeats."""

_TAG = re.compile(r"<!--.*?-->|</?[A-Za-z!?][^<>]*>", re.S)
_SPACE = re.compile(r"\s+")
_TRACE = re.compile("reasoning-tools-call|execute_actions|discover-actions")
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]<>~&!])")


@dataclass(slots=True)
class Segment:
    """One section of a message. `inline` may grow; `temporary` goes with the next update.

    The text of a structured one is the JSON of its blocks, as `structured.reading.pack` made it.
    """

    type: SegmentType
    text: str
    kind: str | None = None
    inline: bool = False
    temporary: bool = False


def parse_content(raw: Json) -> Segment | None:
    """The segment for any form of `DisplayContent` (WIRE.md 6, CANVAS 35-38); `None` is nothing."""
    if not isinstance(raw, Mapping):
        return _segment("text", raw, None)
    name = raw.get("type", "text")
    kind = raw.get("kind")
    kind = kind if kind in KINDS else None
    content = raw.get("content")
    if name in ("text", "markdown") and "content" in raw:
        return _segment(name, content, kind)
    if name == "structured" and (packed := pack(raw)) is not None:
        return Segment("structured", packed, kind)
    if alternate := _best_alternate(raw.get("alternates"), kind):
        return alternate
    if name == "html":
        return _segment("html", content, kind)
    if name == "iframe":
        return Segment("text", NO_RICH, kind)
    if name == "structured":
        return _derived(raw.get("blocks"), kind)
    return _unknown(name, content, kind)


def plain_text(segments: Sequence[Segment]) -> str:
    """The words alone, with no markup and no escapes: for search, lists and screen readers."""
    return "\n\n".join(filter(None, map(_segment_words, segments)))


def raw_text(segments: Sequence[Segment]) -> str:
    """The same with its markup, at no cost: for what still grows. Blocks have no words yet."""
    written = (segment.text.strip() for segment in segments if segment.type != "structured")
    return "\n\n".join(filter(None, written))


def html_to_text(html: str) -> str:
    """The words of a piece of HTML on one line. Tags go, whatever they are; the result is text."""
    return _SPACE.sub(" ", unescape(_TAG.sub(" ", html))).strip()


def segment_to_json(segment: Segment) -> dict[str, Json]:
    """A compact form for the database: what is not said has its default."""
    data: dict[str, Json] = {"type": segment.type, "text": segment.text}
    if segment.kind is not None:
        data["kind"] = segment.kind
    if segment.inline:
        data["inline"] = True
    if segment.temporary:
        data["temporary"] = True
    return data


def segment_from_json(data: Json) -> Segment:
    """The inverse; a row that another version wrote gives at least its text."""
    if not isinstance(data, Mapping):
        return Segment("text", clean_text(as_text(data)))
    name = data.get("type")
    kind = data.get("kind")
    return Segment(
        cast("SegmentType", name if name in SEGMENT_TYPES else "text"),
        clean_text(as_text(data.get("text"))),
        kind if kind in KINDS else None,
        bool(data.get("inline")),
        bool(data.get("temporary")),
    )


def _segment(name: str, content: Json, kind: str | None) -> Segment | None:
    if isinstance(content, list) and any(isinstance(row, list) for row in content):
        text = _table(name, content)
        return Segment("markdown", text, kind) if text else None
    lines = content if isinstance(content, list) else [content]
    text = clean_text("\n".join(map(as_text, lines)))
    if name == "html":
        text = "" if _TRACE.search(text) else html_to_text(text)
    if not text:
        return None
    return Segment("markdown" if name == "markdown" else "text", text, kind)


def _best_alternate(alternates: Json, kind: str | None) -> Segment | None:
    if not isinstance(alternates, list):
        return None
    offers = [offer for offer in alternates if isinstance(offer, Mapping)]
    for name in ALTERNATE_ORDER:
        for offer in offers:
            if offer.get("type") == name:
                own = offer.get("kind")
                found = _segment(name, offer.get("content"), own if own in KINDS else kind)
                if found is not None:
                    return found
    return None


def _derived(blocks: Json, kind: str | None) -> Segment:
    """What cannot be drawn as blocks and came without alternates (CANVAS 65)."""
    if count_cells(blocks) > MAX_FALLBACK_CELLS:
        return Segment("text", TOO_LARGE, kind)
    words = clean_text(to_markdown(read_blocks(blocks)))
    return Segment("markdown", words, kind) if words else Segment("text", NO_STRUCTURED, kind)


def _unknown(name: Json, content: Json, kind: str | None) -> Segment:
    shown = clean_text(as_text(name))[:MAX_TYPE_CHARS]
    found = _segment("text", content, kind)
    if found is None:
        return Segment("text", f"Content of the type “{shown}” cannot be shown here.", kind)
    notice = f"Content of the type “{shown}” is shown as text:"
    return Segment(found.type, f"{notice}\n\n{found.text}", kind)


def _table(name: str, content: list[Json]) -> str:
    """A markdown table; its first row is the header and short rows are filled up (CANVAS 37)."""
    rows = [row if isinstance(row, list) else [row] for row in content]
    width = max(map(len, rows))
    if not width:
        return ""
    cells = [[_cell(name, cell) for cell in row] + [""] * (width - len(row)) for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([lines[0], "| " + " | ".join(["---"] * width) + " |", *lines[1:]])


def _cell(name: str, raw: Json) -> str:
    text = clean_text(as_text(raw))
    if name == "html":
        text = html_to_text(text)
    if name != "markdown":
        text = _MARKDOWN_SPECIAL.sub(r"\\\1", text.replace("\x1b[", CSI))
    return _SPACE.sub(" ", text).strip().replace("|", "\\|")


def _segment_words(segment: Segment) -> str:
    if segment.type == "structured":
        return strip_escapes(to_text(unpack(segment.text)[0])).strip("\n")
    if segment.type == "markdown" and len(segment.text) <= MAX_MARKDOWN_CHARS:
        return markdown_to_text(segment.text)
    text = html_to_text(segment.text) if segment.type == "html" else segment.text
    return strip_escapes(text).strip("\n")
