"""Structured content as markdown and as text, where it cannot be drawn as blocks (CANVAS 65). Pure.

Both are what the agents' own library attaches: one blank line between blocks, and in text a table
with padded columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from chat.display.sanitise import is_image_allowed, is_link_allowed

from .model import (
    Block,
    Card,
    Cell,
    Code,
    Divider,
    Heading,
    Image,
    Items,
    Pairs,
    Table,
    Text,
)

MAX_PADDED_CHARS = 60
"""A column is padded to its widest cell, but not for one that is longer than a line."""

_SPACE = re.compile(r"\s+")
_SPECIAL = re.compile(r"([\\`*_\[\]<>~&!|])")
_TICKS = re.compile(r"`{3,}")


def to_markdown(blocks: Iterable[Block]) -> str:
    """The blocks as markdown. Only what an agent wrote as markdown is taken for markup."""
    return "\n\n".join(filter(None, map(_markdown, blocks)))


def to_text(blocks: Iterable[Block]) -> str:
    """The words alone, without any address."""
    return "\n\n".join(filter(None, map(_text, blocks)))


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_escaped(text)}"
        case Text(text, markdown):
            return text if markdown else "\\\n".join(map(_escaped, text.strip().split("\n")))
        case Table():
            return _markdown_table(block)
        case Items(items, ordered):
            return "\n".join(
                (f"{number}. " if ordered else "- ")
                + _linked(item.cell)
                + (f" — {_escaped(item.subtitle)}" if item.subtitle else "")
                for number, item in enumerate(items, 1)
            )
        case Pairs(pairs):
            return "\n".join(f"- **{_escaped(label)}:** {_linked(cell)}" for label, cell in pairs)
        case Card(title, subtitle, fields):
            lines = [f"### {_linked(title)}", _escaped(subtitle), _markdown(fields)]
            return "\n".join(filter(None, lines))
        case Image(src, alt, caption):
            shown = is_link_allowed(src) or is_image_allowed(src)
            image = (
                f"![{_escaped(alt)}]({_address(src)})" if shown else f"\\[image: {_escaped(alt)}\\]"
            )
            return f"{image}\n\n*{_escaped(caption)}*" if caption else image
        case Code(code, language):
            fence = max(["``", *_TICKS.findall(code)], key=len) + "`"
            return f"{fence}{_SPACE.sub('', language)}\n{code}\n{fence}"
        case Divider():
            return "---"


def _markdown_table(table: Table) -> str:
    header = [_escaped(column.header) for column in table.columns]
    rows = [header, ["---"] * len(header), *([_linked(cell) for cell in row] for row in table.rows)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if table.caption:
        lines[:0] = [f"*{_escaped(table.caption)}*", ""]
    return "\n".join(lines)


def _linked(cell: Cell) -> str:
    words = _escaped(cell.text)
    return f"[{words}]({_address(cell.href)})" if cell.href else words


def _address(url: str) -> str:
    """So written that it stays one address."""
    return url if re.fullmatch(r"[^\s<>()|\\]+", url) else f"<{re.sub(r'[\s<>|\\]', '', url)}>"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", _SPACE.sub(" ", text).strip())


def _text(block: Block) -> str:
    match block:
        case Heading(text) | Text(text):
            return text
        case Table():
            return _text_table(block)
        case Items(items, ordered):
            return "\n".join(
                (f"{number}. " if ordered else "- ")
                + item.cell.text
                + (f" — {item.subtitle}" if item.subtitle else "")
                for number, item in enumerate(items, 1)
            )
        case Pairs(pairs):
            return "\n".join(f"{label}: {cell.text}" for label, cell in pairs)
        case Card(title, subtitle, fields):
            return "\n".join(filter(None, [title.text, subtitle, _text(fields)]))
        case Image(_, alt, caption):
            return f"[image: {alt}]" + (f"\n{caption}" if caption else "")
        case Code(code):
            return code
        case Divider():
            return "----"


def _text_table(table: Table) -> str:
    header = [_SPACE.sub(" ", column.header) for column in table.columns]
    rows = [[_SPACE.sub(" ", cell.text) for cell in row] for row in table.rows]
    widths = [len(words) for words in header]
    for row in rows:
        for index, words in enumerate(row):
            if len(words) <= MAX_PADDED_CHARS:
                widths[index] = max(widths[index], len(words))
    widths = [min(width, MAX_PADDED_CHARS) for width in widths]
    lines = [_padded(header, widths), "  ".join("-" * width for width in widths)]
    lines += [_padded(row, widths) for row in rows]
    return "\n".join([table.caption, *lines] if table.caption else lines)


def _padded(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(words.ljust(width) for words, width in zip(row, widths, strict=False))
