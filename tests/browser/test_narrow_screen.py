"""At 320 px nothing pans the page sideways: long things wrap, and code and tables scroll alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from chat.localagent.wire import Json
from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.director import Director

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

pytestmark = pytest.mark.browser

WIDTH = 320
LONG = "a" * 500
URL = "https://example.com/" + "path-without-end/" * 30 + "?query=" + "x" * 100
BASE64 = "iVBORw0KGgoAAAANSUhEUgAA" * 40
COLUMNS = [f"column number {number}" for number in range(12)]
MARKDOWN = "\n\n".join(
    [
        f"# {LONG}",
        f"{LONG} **{LONG}** `{LONG}`",
        f"<{URL}> and [a link]({URL}) and [{URL}]({URL})",
        f"- {LONG}\n  - {LONG}\n    - {LONG}\n      1. {BASE64}",
        f"> {BASE64}\n>\n> > {LONG}",
        "|" + "|".join(COLUMNS) + "|\n" + "|---" * 12 + "|\n" + f"|{LONG}" * 12 + "|",
        f"```python\nvalue = '{LONG}'  # {BASE64}\n```",
        f"    {LONG}",
        "---",
    ]
)
CONTENTS: list[Json] = [
    {"type": "markdown", "content": MARKDOWN},
    {"type": "text", "content": f"{LONG}\n{URL}\n{BASE64}"},
    {"type": "text", "content": [COLUMNS, ["a cell with some words"] * 12, [LONG] * 12]},
    {"type": "text", "content": LONG, "kind": "error"},
    {"type": "text", "content": f"\x1b[31m{LONG}\x1b[0m"},
]
NAMED = """
from django.contrib.auth.models import User
User.objects.get(username={name!r}).conversations.create(name="n" * 200)
"""

SIDEWAYS = """
() => {
  const wide = [];
  const root = document.documentElement;
  if (root.scrollWidth !== root.clientWidth) wide.push(`page ${root.scrollWidth}`);
  for (const element of document.body.querySelectorAll("*")) {
    if (element.closest(".visually-hidden, .skip, svg")) continue;
    const own = element.matches("pre, .table-wrap");
    if (!own && element.closest("pre, .table-wrap")) continue;
    const box = element.getBoundingClientRect();
    const where = `${element.tagName}.${element.className} ${box.left}..${box.right}`;
    if (box.width && (box.right > root.clientWidth + 0.5 || box.left < -0.5)) wide.push(where);
    const style = getComputedStyle(element);
    if (own || style.display === "inline" || style.display === "contents") continue;
    const cut = style.textOverflow === "ellipsis";
    if (!cut && element.scrollWidth > element.clientWidth + 1 && element.clientWidth)
      wide.push(`${where} holds ${element.scrollWidth}`);
  }
  return wide;
}
"""
"""What reaches beyond the screen, or holds more than it shows, but for code and tables."""
SCROLLED = "e => { e.scrollLeft = 1e6; return [e.scrollLeft, e.scrollWidth]; }"
"""Moves to the right end."""


def assert_nothing_sticks_out(chat: Chat) -> None:
    assert chat.page.evaluate("document.documentElement.clientWidth") == WIDTH
    assert chat.page.evaluate(SIDEWAYS) == []


def test_c77_only_code_and_tables_scroll_sideways_on_the_narrowest_phone(
    person: Person,
    make_context: Callable[..., BrowserContext],
    open_chat: Callable[..., Chat],
    director: Director,
) -> None:
    person.site.manage("shell", "-c", NAMED.format(name=person.name))
    context = make_context(person, viewport={"width": WIDTH, "height": 640})
    chat = open_chat(person, in_=context)
    chat.wait_connected()
    assert_nothing_sticks_out(chat)
    chat.send(f"@told c77 {LONG}\n{URL}\n{BASE64}")
    part = director.part(f"c77 {LONG}\n{URL}\n{BASE64}")
    for start in range(0, len(MARKDOWN), 1500):
        part.append(MARKDOWN[start : start + 1500])
        assert_nothing_sticks_out(chat)
    part.show(*CONTENTS, source="source" * 30)
    part.show("The end")
    expect(chat.answer_text).to_contain_text("The end")
    assert_nothing_sticks_out(chat)
    part.fail(f"{LONG} {URL}")
    chat.wait_ended()
    assert_nothing_sticks_out(chat)

    chat.reload()
    expect(chat.answer_text).to_contain_text("The end")
    assert_nothing_sticks_out(chat)
    chat.page.get_by_label("Menu").click()
    chat.page.get_by_text("Clear chat").click()
    assert_nothing_sticks_out(chat)

    for wide in chat.page.locator("pre, .table-wrap").all():
        scrolled, whole = wide.evaluate(SCROLLED)
        assert 0 < scrolled < whole
        assert whole - scrolled == wide.evaluate("e => e.clientWidth")
