"""Contrast as WCAG 2.2 counts it (1.4.3, 1.4.11), of what a page really shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXT, LARGE_TEXT, PARTS = 4.5, 3.0, 3.0
"""Least contrasts: of text, of large text, and of the parts of controls."""
LARGE_PX, LARGE_BOLD_PX, BOLD = 24.0, 18.66, 700

READ_COLOURS = """
() => {
  const pixel = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = colour => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, bottom) => {
    const alpha = top[3] + bottom[3] * (1 - top[3]);
    const mix = i => (top[i] * top[3] + bottom[i] * bottom[3] * (1 - top[3])) / (alpha || 1);
    return [mix(0), mix(1), mix(2), alpha];
  };
  /* What is painted from an element outwards, `top` on it; opacity fades a group as a whole. */
  const shown = (element, top) => {
    let paint = top;
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      paint = over(paint, rgba(style.backgroundColor));
      paint[3] *= Number(style.opacity);
    }
    return over(paint, rgba("Canvas"));
  };
  const nothing = [0, 0, 0, 0];
  const hidden = element => {
    const box = element.getBoundingClientRect();
    return element.closest(".visually-hidden, .skip, [hidden]") || !box.width || !box.height
      || !element.checkVisibility({visibilityProperty: true, opacityProperty: true});
  };
  const found = [];
  const note = (element, colour, what, kind) => found.push({
    what, kind, at: `${element.tagName}.${element.className.baseVal ?? element.className}`,
    ink: shown(element, rgba(colour)), paper: shown(element, nothing),
    size: parseFloat(getComputedStyle(element).fontSize),
    weight: Number(getComputedStyle(element).fontWeight),
  });
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || hidden(element) || element.matches("textarea, script")) continue;
    note(element, getComputedStyle(element).color, node.data.trim().slice(0, 40), "text");
  }
  for (const field of document.querySelectorAll("textarea, input:not([type=hidden])")) {
    note(field, getComputedStyle(field).color, "value", "text");
    if (field.placeholder)
      note(field, getComputedStyle(field, "::placeholder").color, "placeholder", "text");
  }
  for (const button of document.querySelectorAll("button, summary"))
    for (const icon of button.querySelectorAll("svg"))
      if (!hidden(icon)) note(icon, getComputedStyle(icon).color, "icon", "part");
  for (const box of document.querySelectorAll(".box, .stack input:not([type=hidden])"))
    note(box.parentElement, getComputedStyle(box).borderTopColor, "border", "part");
  for (const copy of document.querySelectorAll(".copy"))
    note(copy, getComputedStyle(copy, "::before").color, "copy", "text");
  return found;
}
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """Something that is to be seen on something: its contrast, and what it needs."""

    what: str
    contrast: float
    least: float

    @property
    def fine(self) -> bool:
        """Whether it can be made out."""
        return self.contrast >= self.least


def luminance(colour: list[float]) -> float:
    """The relative luminance of an sRGB colour with channels from 0 to 255."""
    channels = [channel / 255 for channel in colour[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[float], other: list[float]) -> float:
    """From 1 (the same) to 21 (black and white)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def everything_seen(page: Page) -> list[Seen]:
    """All text, fields, icons and borders that the page shows now."""
    return [_judge(each) for each in page.evaluate(READ_COLOURS)]


def _judge(found: dict[str, Any]) -> Seen:
    large = found["size"] >= LARGE_PX or (
        found["size"] >= LARGE_BOLD_PX and found["weight"] >= BOLD
    )
    least = PARTS if found["kind"] == "part" else LARGE_TEXT if large else TEXT
    what = f"{found['at']} {found['what']!r} {found['ink']} on {found['paper']}"
    return Seen(what, contrast(found["ink"], found["paper"]), least)
