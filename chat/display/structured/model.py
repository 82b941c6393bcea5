"""The blocks of structured content (CANVAS 52-64) as checked values, which need no more asking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

type Tone = Literal["success", "warning", "error", "info", "neutral"]
type ColumnType = Literal["text", "link", "badge", "number", "date", "code"]

COLUMN_TYPES: tuple[ColumnType, ...] = ("text", "link", "badge", "number", "date", "code")


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with what it may carry; a badge beats a link beats the column's type (CANVAS 55)."""

    text: str
    href: str = ""
    badge: Tone | None = None
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """What the cells below a header have in common (CANVAS 55)."""

    header: str
    type: ColumnType
    align: str
    sortable: bool


@dataclass(frozen=True, slots=True)
class Heading:
    """CANVAS 53."""

    text: str
    level: int


@dataclass(frozen=True, slots=True)
class Text:
    """CANVAS 54."""

    text: str
    markdown: bool


@dataclass(frozen=True, slots=True)
class Table:
    """CANVAS 55-58. Rows may be shorter than the columns; `page_size` 0 is no paging."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str
    filterable: bool
    page_size: int


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a list (CANVAS 59)."""

    cell: Cell
    subtitle: str
    badges: tuple[tuple[str, Tone], ...]


@dataclass(frozen=True, slots=True)
class Items:
    """A list (CANVAS 59)."""

    items: tuple[Item, ...]
    ordered: bool


@dataclass(frozen=True, slots=True)
class Pairs:
    """Labels with their values (CANVAS 60)."""

    pairs: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True, slots=True)
class Card:
    """CANVAS 61."""

    title: Cell
    subtitle: str
    fields: Pairs


@dataclass(frozen=True, slots=True)
class Image:
    """CANVAS 62. A width or height of 0 is not known."""

    src: str
    alt: str
    caption: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Code:
    """CANVAS 63."""

    code: str
    language: str


@dataclass(frozen=True, slots=True)
class Divider:
    """CANVAS 64."""


type Block = Heading | Text | Table | Items | Pairs | Card | Image | Code | Divider
