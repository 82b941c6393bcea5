"""Reads pages as a browser without scripts does: the forms, the links, and what they would send."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"input", "meta", "link", "br", "hr", "img", "path", "rect"}


@dataclass
class Form:
    """A form: `fields` hold what it sends if nobody changes anything, `buttons` what they add."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[dict[str, str]] = field(default_factory=list)


@dataclass
class Element:
    """An element with all the text inside it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


class Document(HTMLParser):
    """The elements of a page or of a fragment, in order, with their text."""

    def __init__(self, html: str | bytes) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.forms: list[Form] = []
        self._open: list[Element] = []
        self._form: Form | None = None
        self.feed(html.decode() if isinstance(html, bytes) else html)
        self.close()

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """The elements with these attributes; `data_role` stands for `data-role`."""
        wanted = {name.strip("_").replace("_", "-"): text for name, text in attributes.items()}
        return [
            element
            for element in self.elements
            if tag in ("", element.tag) and wanted.items() <= element.attributes.items()
        ]

    def one(self, tag: str = "", **attributes: str) -> Element:
        found = self.all(tag, **attributes)
        assert len(found) == 1, f"{len(found)} of {tag} {attributes}"
        return found[0]

    @property
    def messages(self) -> list[Element]:
        """The bubbles, in order."""
        return [element for element in self.elements if "data-message" in element.attributes]

    def form(self, action_end: str, having: str = "") -> Form:
        """The form that posts there and, if asked for, has a field of that name."""
        found = [
            form
            for form in self.forms
            if form.action.endswith(action_end) and (not having or having in form.fields)
        ]
        assert found, f"no form to {action_end}"
        return found[0]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: text or "" for name, text in attrs}
        element = Element(tag, attributes)
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)
        if tag == "form":
            self._form = Form(attributes.get("action", ""), attributes.get("method", "get"))
            self.forms.append(self._form)
        elif self._form is not None and "name" in attributes:
            self._add_control(self._form, tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        while self._open:
            if self._open.pop().tag == tag:
                break

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data
        if self._form is not None and self._open and self._open[-1].tag == "textarea":
            # The first newline of a textarea is not part of its text.
            name = self._open[-1].attributes["name"]
            self._form.fields[name] = self._open[-1].text.removeprefix("\n")

    def _add_control(self, form: Form, tag: str, attributes: dict[str, str]) -> None:
        if tag == "button":
            form.buttons.append({attributes["name"]: attributes.get("value", "")})
        else:
            form.fields[attributes["name"]] = attributes.get("value", "")
