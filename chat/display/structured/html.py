"""The blocks of structured content to markup, one piece a block (CANVAS 52-64). Pure.

What it gives still has to be sanitised. Everything is readable as it stands; the classes of a
table tell the page's script what it may add.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from chat.display.ansi import keep_colours_only, link_markup, render_runs, strip_escapes
from chat.display.markdown import HEADING_SHIFT, block_markup, code_markup, parse_blocks
from chat.display.sanitise import is_image_allowed, is_link_allowed

from .model import (
    Block,
    Card,
    Cell,
    Code,
    Column,
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
from .reading import NO_STRUCTURED, unpack


def packed_markup(packed: str) -> Iterator[str]:
    """The markup of each block that `pack` packed, and of the data for machines where there is any
    (CANVAS 52): that is never shown, only offered for copying.
    """
    blocks, data = unpack(packed)
    if not blocks:
        yield f"<p>{NO_STRUCTURED}</p>"
    yield from map(structured_markup, blocks)
    if data:
        yield f'<div class="data" data-raw="{escape(data)}"></div>'


def structured_markup(block: Block) -> str:
    """The markup of one block."""
    match block:
        case Heading(text, level):
            tag = f"h{level + HEADING_SHIFT}"
            return f'<{tag} dir="auto">{_plain(text)}</{tag}>'
        case Text(text, markdown=True):
            return "".join(map(block_markup, parse_blocks(text, {})))
        case Text(text):
            body = render_runs(keep_colours_only(text.strip("\n")))[0]
            return f'<div class="text" dir="auto">{body}</div>'
        case Table():
            return _table(block)
        case Items(items, ordered):
            tag = "ol" if ordered else "ul"
            return f"<{tag}>{''.join(map(_item, items))}</{tag}>"
        case Pairs():
            return _pairs(block)
        case Card():
            return _card(block)
        case Image():
            return _image(block)
        case Code(code, language):
            return code_markup(code, language)
        case Divider():
            return "<hr>"


def _table(table: Table) -> str:
    sorts = len(table.rows) > 1
    header = "".join(
        _header(column, sortable=sorts and column.sortable) for column in table.columns
    )
    rows = "".join(_row(table.columns, row) for row in table.rows)
    caption = f'<caption dir="auto">{_plain(table.caption)}</caption>' if table.caption else ""
    filterable = " filterable" if table.filterable and table.rows else ""
    page = f' data-page="{table.page_size}"' if 0 < table.page_size < len(table.rows) else ""
    return (
        f'<div class="grid{filterable}"{page}><div class="table-wrap"><table>{caption}'
        f"<thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table></div></div>"
    )


def _header(column: Column, sortable: bool) -> str:
    classes = [f"align-{column.align}"] if column.align else []
    if sortable:
        classes.append("sortable")
    named = f' class="{" ".join(classes)}"' if classes else ""
    return f'<th scope="col"{named} dir="auto">{_plain(column.header)}</th>'


def _row(columns: tuple[Column, ...], row: tuple[Cell, ...]) -> str:
    cells = []
    for index, column in enumerate(columns):
        named = f' class="align-{column.align}"' if column.align else ""
        body = _cell(row[index], column) if index < len(row) else ""
        cells.append(f'<td{named} dir="auto">{body}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _cell(cell: Cell, column: Column | None = None) -> str:
    kind = column.type if column else "text"
    words = _plain(cell.text)
    if cell.badge:
        return _badge(words, cell.badge, cell.tooltip)
    href = cell.href
    if kind == "link" and not href and is_link_allowed(cell.text):
        href = cell.text
    if href:
        return link_markup(strip_escapes(href), words, strip_escapes(cell.tooltip))
    if kind == "badge" and words:
        return _badge(words, "neutral", cell.tooltip)
    if kind == "code" and words:
        words = f'<code dir="ltr">{words}</code>'
    return f"<span{_title(cell.tooltip)}>{words}</span>" if cell.tooltip else words


def _badge(words: str, tone: Tone, tooltip: str = "") -> str:
    """The tone only colours: the words say it."""
    return f'<span class="badge badge-{tone}"{_title(tooltip)}>{words}</span>'


def _item(item: Item) -> str:
    badges = "".join(f" {_badge(_plain(label), tone)}" for label, tone in item.badges)
    return f'<li dir="auto">{_cell(item.cell)}{badges}{_subtitle(item.subtitle)}</li>'


def _subtitle(words: str) -> str:
    return f'<div class="subtitle" dir="auto">{_plain(words)}</div>' if words else ""


def _pairs(pairs: Pairs) -> str:
    rows = (
        f'<dt dir="auto">{_plain(label)}</dt><dd dir="auto">{_cell(value)}</dd>'
        for label, value in pairs.pairs
    )
    return f"<dl>{''.join(rows)}</dl>"


def _card(card: Card) -> str:
    title = f'<p dir="auto"><strong>{_cell(card.title)}</strong></p>' if card.title.text else ""
    fields = _pairs(card.fields) if card.fields.pairs else ""
    return f'<div class="tile">{title}{_subtitle(card.subtitle)}{fields}</div>'


def _image(image: Image) -> str:
    """Only a picture that is in the content itself is shown (see C73); another is a link."""
    alt = strip_escapes(image.alt)
    if is_image_allowed(image.src):
        sizes = (("width", image.width), ("height", image.height))
        size = "".join(f' {name}="{pixels}"' for name, pixels in sizes if pixels)
        body = f'<img src="{escape(image.src)}" alt="{escape(alt)}"{size}>'
    elif is_link_allowed(image.src):
        src = strip_escapes(image.src)
        body = link_markup(src, escape(alt or src, quote=False))
    else:
        body = _plain(f"[image: {image.alt}]")
    caption = f'<figcaption dir="auto">{_plain(image.caption)}</figcaption>'
    return f"<figure>{body}{caption if image.caption else ''}</figure>"


def _title(tooltip: str) -> str:
    return f' title="{escape(strip_escapes(tooltip))}"' if tooltip else ""


def _plain(words: str) -> str:
    return escape(strip_escapes(words), quote=False)
