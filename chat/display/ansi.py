"""Terminal text: escape sequences, and what may be linked in it. Pure; gives unsanitised markup.

Colours become classes; every other escape is dropped, also one that has only half arrived (C83).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from html import escape

from chat.display.sanitise import ANSI_COLOURS

CSI = "\x9b"
"""The one-character form of `ESC [` (ECMA-48 5.4), which no markdown rule takes for a bracket."""

_STRING_ESCAPE = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\n]*(?:\x07|\x1b\\)?"
)
_SGR = re.compile(r"\x9b([0-9;:]*)m")
_CSI = re.compile(r"\x9b(?![0-9;:]*m)[0-?]*[ -/]*[@-~]?")
_OTHER_ESCAPE = re.compile(r"\x1b[ -/]*[0-~]?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9a\x9c-\x9f]")
_ANY_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_URL = re.compile(r"(?<![A-Za-z0-9])(https?://|mailto:)([^\s<>\"`\x00-\x1f\x7f-\x9f]+)", re.I)
_TRAILING = ".,;:!?'*_~\u2019\u201d\u00bb\u2026"
_CLOSERS = {")": "(", "]": "[", "}": "{"}

_CUBE = (0, 95, 135, 175, 215, 255)
_PALETTE = (
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0),
    (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
    (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0),
    (92, 92, 255), (255, 0, 255), (0, 255, 255), (255, 255, 255),
)  # fmt: skip
_STYLES_ON = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_STYLES_OFF = {
    22: frozenset({"bold", "dim"}),
    23: frozenset({"italic"}),
    24: frozenset({"underline"}),
    27: frozenset({"inverse"}),
    29: frozenset({"strike"}),
}


@dataclass(frozen=True, slots=True)
class Pen:
    """What the escapes so far have switched on. Colours are 0-15, the sixteen classic ones."""

    foreground: int | None = None
    background: int | None = None
    styles: frozenset[str] = frozenset()

    @property
    def classes(self) -> str:
        names = sorted(self.styles)
        if self.foreground is not None:
            names.append(_colour_name(self.foreground))
        if self.background is not None:
            names.append(f"bg-{_colour_name(self.background)}")
        return " ".join(f"ansi-{name}" for name in names)


PLAIN = Pen()


def keep_colours_only(text: str) -> str:
    """The text with each colour escape in its one-character form, and no other control character.

    Lines stay what they were: an escape never reaches over the end of its line.
    """
    if text.isprintable() or not _ANY_CONTROL.search(text):
        return text
    text = _STRING_ESCAPE.sub("", text)
    text = _OTHER_ESCAPE.sub("", text.replace("\x1b[", CSI))
    return _CONTROL.sub("", _CSI.sub("", text))


def strip_escapes(text: str) -> str:
    """The words alone."""
    return _SGR.sub("", keep_colours_only(text))


def render_runs(text: str, pen: Pen = PLAIN, *, links: bool = True) -> tuple[str, Pen]:
    """Escaped markup of a text that went through `keep_colours_only`, and the pen at its end."""
    if CSI not in text:
        return _run(text, pen, links), pen
    parts: list[str] = []
    for index, piece in enumerate(_SGR.split(text)):
        if index % 2:
            pen = _apply(pen, piece)
        elif piece:
            parts.append(_run(piece, pen, links))
    return "".join(parts), pen


def link_markup(url: str, inner: str, title: str = "") -> str:
    """An anchor that opens elsewhere and tells nothing about us; `inner` is markup already."""
    tip = f' title="{escape(title)}"' if title else ""
    return f'<a href="{escape(url)}"{tip} target="_blank">{inner}</a>'


def _run(text: str, pen: Pen, links: bool) -> str:
    body = _linked(text) if links else escape(text, quote=False)
    return f'<span class="{classes}">{body}</span>' if (classes := pen.classes) else body


def _linked(text: str) -> str:
    parts: list[str] = []
    done = 0
    for match in _URL.finditer(text):
        rest = _without_trailing(match[2])
        if not rest:
            continue
        url = match[1] + rest
        parts.append(escape(text[done : match.start()], quote=False))
        parts.append(link_markup(url, escape(url, quote=False)))
        done = match.start() + len(url)
    parts.append(escape(text[done:], quote=False))
    return "".join(parts)


def _without_trailing(url: str) -> str:
    """Without the punctuation of the sentence around it; a bracket goes if it was not opened."""
    open_count = {closer: url.count(opener) for closer, opener in _CLOSERS.items()}
    close_count = {closer: url.count(closer) for closer in _CLOSERS}
    end = len(url)
    while end:
        last = url[end - 1]
        if last in _CLOSERS and close_count[last] > open_count[last]:
            close_count[last] -= 1
        elif last not in _TRAILING:
            break
        end -= 1
    return url[:end]


def _colour_name(colour: int) -> str:
    return f"bright-{ANSI_COLOURS[colour - 8]}" if colour >= 8 else ANSI_COLOURS[colour]


def _apply(pen: Pen, parameters: str) -> Pen:
    codes = [int(code[:4]) if code else 0 for code in parameters.replace(":", ";").split(";")]
    at = 0
    while at < len(codes):
        code = codes[at]
        if code in (38, 48):
            colour, used = _extended(codes[at + 1 :])
            at += used
            if colour is not None:
                pen = _with_colour(pen, code - 38, colour)
        else:
            pen = _apply_simple(pen, code)
        at += 1
    return pen


def _apply_simple(pen: Pen, code: int) -> Pen:
    if code == 0:
        return PLAIN
    if code in _STYLES_ON:
        return replace(pen, styles=pen.styles | {_STYLES_ON[code]})
    if code in _STYLES_OFF:
        return replace(pen, styles=pen.styles - _STYLES_OFF[code])
    if code == 39:
        return replace(pen, foreground=None)
    if code == 49:
        return replace(pen, background=None)
    for first, ground, bright in ((30, 0, 0), (40, 10, 0), (90, 0, 8), (100, 10, 8)):
        if first <= code < first + 8:
            return _with_colour(pen, ground, code - first + bright)
    return pen


def _with_colour(pen: Pen, ground: int, colour: int) -> Pen:
    return replace(pen, background=colour) if ground else replace(pen, foreground=colour)


def _extended(codes: list[int]) -> tuple[int | None, int]:
    """The nearest classic colour of a `5;n` or `2;r;g;b` colour, and how many codes it took."""
    if codes[:1] == [5] and len(codes) > 1:
        return _from_256(codes[1]), 2
    if codes[:1] == [2] and len(codes) > 3:
        return _nearest((codes[1], codes[2], codes[3])), 4
    return None, len(codes)


def _from_256(index: int) -> int | None:
    if index < 16:
        return index
    if index < 232:
        index -= 16
        return _nearest((_CUBE[index // 36], _CUBE[index // 6 % 6], _CUBE[index % 6]))
    if index < 256:
        grey = 8 + 10 * (index - 232)
        return _nearest((grey, grey, grey))
    return None


def _nearest(rgb: tuple[int, int, int]) -> int:
    def distance(colour: int) -> int:
        return sum((a - b) ** 2 for a, b in zip(rgb, _PALETTE[colour], strict=True))

    return min(range(16), key=distance)
