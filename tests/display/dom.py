"""Reads a piece of HTML back, so that tests speak of elements and words and not of markup."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "hr", "img"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    parents: list[str] = field(default_factory=list)

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())


class Dom(HTMLParser):
    """The elements of some markup in order, and its words."""

    def __init__(self, html: str | Iterable[str]) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.text = ""
        self._open: list[Element] = []
        self.feed(html if isinstance(html, str) else "".join(html))
        self.close()
        assert not self._open, "an element was left open"

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    def one(self, tag: str) -> Element:
        (element,) = self.all(tag)
        return element

    def with_class(self, name: str) -> list[Element]:
        return [element for element in self.elements if name in element.classes]

    def hrefs(self) -> list[str | None]:
        return [element.attributes.get("href") for element in self.all("a")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(
            tag,
            {name: value or "" for name, value in attrs},
            parents=[outer.tag for outer in self._open],
        )
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        for element in self._open:
            element.text += data
