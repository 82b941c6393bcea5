"""The one sanitiser: all HTML that an agent's or a user's words end up in passes `sanitise`.

Pure. A fault in the renderers above it can spoil the look of a message but cannot put a script, a
foreign picture or a style into a page (see C71, C73). `blocks.wrap_blocks` is the only other place
that marks HTML safe: it puts sanitised blocks into elements of our own.
"""

from __future__ import annotations

import re

import nh3
from django.utils.safestring import SafeString, mark_safe
from pygments.token import STANDARD_TYPES

LINK_SCHEMES = ("http", "https", "mailto", "tel")
"""Where a link may lead (CANVAS 40)."""

KINDS = ("info", "status", "warning", "error", "success")
"""The looks that content may ask for (CANVAS 44)."""

TONES = ("success", "warning", "error", "info", "neutral")
"""The looks of a badge (CANVAS 55, 59)."""

ANSI_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
ANSI_STYLES = ("bold", "dim", "italic", "underline", "inverse", "strike")
ALIGNMENTS = ("left", "center", "right")

_DATA_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*\Z", re.I)
_LINK = re.compile(rf"(?:{'|'.join(LINK_SCHEMES)}):", re.I)

_NUMBER = re.compile(r"[0-9]{1,5}\Z")
_NUMBERS = {"data-page", "height", "width"}

_TAGS = {
    "a", "blockquote", "br", "caption", "code", "dd", "div", "dl", "dt", "em", "figcaption",
    "figure", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol", "p", "pre", "s", "span", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip

_ANSI_CLASSES = frozenset(
    {f"ansi-{style}" for style in ANSI_STYLES}
    | {
        f"ansi-{ground}{bright}{colour}"
        for ground in ("", "bg-")
        for bright in ("", "bright-")
        for colour in ANSI_COLOURS
    }
)

_CLASSES = {
    "div": {"block", "text", "code", "table-wrap", "kind", "temporary"}
    | {"grid", "filterable", "tile", "subtitle", "data"}
    | {f"kind-{kind}" for kind in KINDS},
    "span": {"visually-hidden", *_ANSI_CLASSES, *filter(None, STANDARD_TYPES.values())}
    | {"badge", *(f"badge-{tone}" for tone in TONES)},
    "td": {f"align-{side}" for side in ALIGNMENTS},
    "th": {"sortable", *(f"align-{side}" for side in ALIGNMENTS)},
}


def sanitise(html: str) -> SafeString:
    """Markup reduced to the tags, attributes, classes and addresses that our renderers use."""
    return mark_safe(_CLEANER.clean(html))  # noqa: S308 - this is the sink


def is_link_allowed(url: str) -> bool:
    """Whether a link may lead there: an absolute address of a known scheme."""
    return _LINK.match(url) is not None


def is_image_allowed(url: str) -> bool:
    """Whether a picture may be shown: only one that is carried in the text itself (see C73)."""
    return _DATA_IMAGE.match(url) is not None


def _filter_attribute(tag: str, name: str, value: str) -> str | None:
    """Addresses need a rule per attribute: `data:` is fine for a picture, never for a link."""
    if name == "src":
        return value if is_image_allowed(value) else None
    if name == "href":
        return value if is_link_allowed(value) else None
    if name in _NUMBERS:
        return value if _NUMBER.match(value) else None
    return value


_CLEANER = nh3.Cleaner(
    tags=_TAGS,
    clean_content_tags={"script", "style"},
    attributes={
        "*": {"dir"},
        "a": {"href", "title", "target"},
        "code": {"class"},
        "div": {"data-page", "data-raw"},
        "img": {"src", "alt", "title", "width", "height"},
        "ol": {"start"},
        "span": {"title"},
        "th": {"scope"},
    },
    attribute_filter=_filter_attribute,
    allowed_classes=_CLASSES,
    url_schemes={*LINK_SCHEMES, "data"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
)
