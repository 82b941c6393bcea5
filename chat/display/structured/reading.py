"""Structured content read from JSON, and packed for the database (CANVAS 52). Pure, never raises.

What is missing or of the wrong sort has its default, so that what draws a block need not ask.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from chat.display.sanitise import ALIGNMENTS, TONES, is_link_allowed
from chat.display.words import Json, as_text, clean_text

from .model import (
    COLUMN_TYPES,
    Block,
    Card,
    Cell,
    Code,
    Column,
    ColumnType,
    Divider,
    Heading,
    Image,
    Item,
    Items,
    Pairs,
    Table,
    Text,
    Tone,
)

TOO_LARGE = "This is too large to be shown."
NO_STRUCTURED = "Structured content is not supported in this client yet."
"""Where there is nothing else to show (CANVAS 51)."""

MAX_JSON_CHARS = 400_000
"""Of all blocks of one content; see MAX_CELLS."""

MAX_CELLS = 10_000
"""Cells, items and pairs of one content. What is larger is shown as its fallback: a page with it
would be slow, and rows without cells are many cells out of little JSON."""

MAX_FALLBACK_CELLS = 30_000
"""What is larger still, and came without alternates, is only told of."""

BLOCK_CELLS = 5
"""A block costs as much as so many cells."""

MAX_DATA_CHARS = 100_000
"""Longer `rawData` is not offered for copying: each page load would carry it."""

MAX_IMAGE_PX = 4_096
MAX_HEADING_LEVEL = 3


def read_blocks(raw: Json) -> Iterator[Block]:
    """The blocks that can be drawn; one of an unknown kind or without anything in it is none."""
    for each in _list(raw):
        kind = each.get("kind") if isinstance(each, Mapping) else None
        read = READERS.get(kind) if isinstance(kind, str) else None
        block = read(each) if read else None
        if block is not None:
            yield block


def pack(content: Mapping[str, Json]) -> str | None:
    """The blocks and the data of structured content as JSON, for `unpack`; `None` if they cannot
    be drawn as blocks: there are none, or too many.
    """
    blocks = _list(content.get("blocks"))
    if count_cells(blocks) > MAX_CELLS or not _is_drawable(blocks):
        return None
    packed = _to_json(blocks)
    if packed is None or len(packed) > MAX_JSON_CHARS:
        return None
    data = _to_json(content.get("rawData"))
    if data is None or len(data) > MAX_DATA_CHARS:
        data = "null"
    return clean_text(f'{{"blocks":{packed},"rawData":{data}}}')


def unpack(packed: str) -> tuple[list[Block], str]:
    """The blocks, and the data as JSON for machines, empty where there is none.

    What another version packed, or nobody did, gives what it can.
    """
    try:
        content = json.loads(packed)
    except (ValueError, RecursionError):
        return [], ""
    if not isinstance(content, Mapping) or count_cells(content.get("blocks")) > MAX_CELLS:
        return [], ""
    data = content.get("rawData")
    words = "" if data is None else clean_text(_to_json(data) or "")
    return list(read_blocks(content.get("blocks"))), words


def count_cells(raw: Json) -> int:
    """What the blocks cost to draw, told before anything is read or filled up."""
    count = 0
    for block in _list(raw):
        if isinstance(block, Mapping):
            rows = max(len(_list(block.get("rows"))), 1)
            count += rows * len(_list(block.get("columns")))
            for name in ("items", "pairs", "fields"):
                count += len(_list(block.get(name)))
            count += sum(
                len(_list(item.get("badges")))
                for item in _list(block.get("items"))
                if isinstance(item, Mapping)
            )
        count += BLOCK_CELLS
    return count


def _is_drawable(blocks: list[Any]) -> bool:
    """Whether any block is one. Tables are judged by their columns, as rows would take long."""
    heads = ({**each, "rows": []} if isinstance(each, Mapping) else each for each in blocks)
    return any(True for head in heads for _ in read_blocks([head]))


def _heading(raw: Mapping[str, Json]) -> Heading | None:
    text = _words(raw.get("text"))
    level = _whole(raw.get("level"), 1, MAX_HEADING_LEVEL) or 1
    return Heading(text, level) if text else None


def _text(raw: Mapping[str, Json]) -> Text | None:
    text = _words(raw.get("text"))
    return Text(text, markdown=raw.get("format") != "text") if text.strip() else None


def _table(raw: Mapping[str, Json]) -> Table | None:
    touched = raw.get("readonly") is not True
    sortable = touched and raw.get("sortable") is not False
    columns = tuple(_column(each, sortable) for each in _list(raw.get("columns")))
    if not columns:
        return None
    return Table(
        columns,
        tuple(tuple(map(_cell, _list(row)[: len(columns)])) for row in _list(raw.get("rows"))),
        _words(raw.get("caption")),
        filterable=touched and raw.get("filterable") is True,
        page_size=_whole(raw.get("pageSize"), 1, MAX_CELLS),
    )


def _column(raw: Json, sortable: bool) -> Column:
    if not isinstance(raw, Mapping):
        return Column(_words(raw), "text", "", sortable)
    name = raw.get("type")
    kind = cast("ColumnType", name) if name in COLUMN_TYPES else "text"
    align = raw.get("align")
    return Column(
        _words(raw.get("header")) or _words(raw.get("id")),
        kind,
        align if align in ALIGNMENTS else "right" if kind == "number" else "",
        sortable and raw.get("sortable") is not False,
    )


def _cell(raw: Json) -> Cell:
    if not isinstance(raw, Mapping):
        return Cell(_words(raw))
    href = _href(raw.get("href"))
    badge = raw.get("badge")
    return Cell(
        _words(raw.get("text")) or href,
        href,
        _tone(badge) if badge else None,
        _words(raw.get("tooltip")),
    )


def _items(raw: Mapping[str, Json]) -> Items | None:
    items = tuple(map(_item, _list(raw.get("items"))))
    return Items(items, ordered=raw.get("ordered") is True) if items else None


def _item(raw: Json) -> Item:
    if not isinstance(raw, Mapping):
        return Item(Cell(_words(raw)), "", ())
    badges = tuple(_badge(each) for each in _list(raw.get("badges")))
    return Item(_cell(raw), _words(raw.get("subtitle")), badges)


def _badge(raw: Json) -> tuple[str, Tone]:
    """A tone is its own label; other words are a label without a tone."""
    if not isinstance(raw, Mapping):
        return _words(raw).capitalize(), _tone(raw)
    tone = _tone(raw.get("tone", raw.get("badge")))
    return (_words(raw.get("text")) or tone).capitalize(), tone


def _pairs(raw: Mapping[str, Json]) -> Pairs | None:
    return _pairs_of(raw.get("pairs"))


def _pairs_of(raw: Json) -> Pairs | None:
    pairs = (each for each in _list(raw) if isinstance(each, Mapping))
    found = tuple((_words(each.get("label")), _cell(each.get("value"))) for each in pairs)
    return Pairs(found) if found else None


def _card(raw: Mapping[str, Json]) -> Card | None:
    title = Cell(_words(raw.get("title")), _href(raw.get("href")))
    subtitle, fields = _words(raw.get("subtitle")), _pairs_of(raw.get("fields")) or Pairs(())
    if not (title.text or subtitle or fields.pairs):
        return None
    return Card(title, subtitle, fields)


def _image(raw: Mapping[str, Json]) -> Image | None:
    src, alt, caption = (_words(raw.get(name)).strip() for name in ("src", "alt", "caption"))
    width, height = (_whole(raw.get(name), 1, MAX_IMAGE_PX) for name in ("width", "height"))
    return Image(src, alt, caption, width, height) if src or alt or caption else None


def _code(raw: Mapping[str, Json]) -> Code | None:
    code = _words(raw.get("code"))
    return Code(code, _words(raw.get("language"))) if code else None


def _divider(raw: Mapping[str, Json]) -> Divider:
    return Divider()


READERS: dict[str, Callable[[Mapping[str, Json]], Block | None]] = {
    "heading": _heading,
    "text": _text,
    "table": _table,
    "list": _items,
    "keyValue": _pairs,
    "card": _card,
    "image": _image,
    "code": _code,
    "divider": _divider,
}
"""All nine kinds (CANVAS 53-64)."""


def _list(raw: Json) -> list[Any]:
    return raw if isinstance(raw, list) else []


def _words(raw: Json) -> str:
    return clean_text(as_text(raw))


def _href(raw: Json) -> str:
    """An address that may be linked (CANVAS 40), or nothing."""
    href = _words(raw).strip() if isinstance(raw, str) else ""
    return href if is_link_allowed(href) else ""


def _tone(raw: Json) -> Tone:
    return cast("Tone", raw) if raw in TONES else "neutral"


def _whole(raw: Json, least: int, most: int) -> int:
    """A number of the range, else 0. Only what is a number counts: `true` is none."""
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not least <= raw:
        return 0
    return int(min(raw, most))


def _to_json(value: Json) -> str | None:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None
