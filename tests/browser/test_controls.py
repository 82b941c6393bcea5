"""Controls: large enough for a thumb, reached and seen by keyboard, and doing what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.desk import DESK
from tests.browser.director import Director

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page

pytestmark = pytest.mark.browser

THUMB_PX = 44
CONTROLS = "button, summary, a[href], input:not([type=hidden]), textarea, select"
SMALL = """
(controls, least) => controls.filter(one => one.checkVisibility()
  && !one.closest(".skip, .visually-hidden, [data-body] :is(p, li, td, .text)"))
  .map(one => ({box: one.getBoundingClientRect(), name: one.outerHTML.slice(0, 80)}))
  .filter(({box}) => box.width < least || box.height < least)
  .map(({box, name}) => `${box.width} x ${box.height} ${name}`)
"""
FOCUS = """
() => {
  const one = document.activeElement;
  const ring = getComputedStyle(one);
  const box = one.closest(".box") && one.matches("textarea") ? one.closest(".box") : one;
  const shadow = getComputedStyle(box).boxShadow;
  const outlined = ring.outlineStyle !== "none" && parseFloat(ring.outlineWidth) >= 2;
  return {
    name: one.getAttribute("aria-label") || one.id || one.className || one.textContent.trim(),
    seen: outlined || (box !== one && shadow !== "none"),
  };
}
"""
COPIED = "() => navigator.clipboard.readText()"
CODE = "```python\nprint('copied')\nprint('exactly')\n```"


def assert_large_enough(page: Page) -> None:
    assert page.locator(CONTROLS).count() > 2
    assert page.locator(CONTROLS).evaluate_all(SMALL, THUMB_PX - 0.5) == []


def menu(chat: Chat) -> Locator:
    """The menu, opened."""
    chat.page.get_by_label("Menu").click()
    return chat.page.locator(".menu .panel")


def test_every_control_is_large_enough_for_a_thumb(
    chat: Chat, director: Director, make_context: Callable[..., BrowserContext], person: Person
) -> None:
    assert_large_enough(chat.page)  # empty, with its suggestions
    chat.send("@told thumbs")
    part = director.part("thumbs").append(CODE)
    expect(chat.page.locator(".copy")).to_be_visible()
    expect(chat.stop_button).to_be_visible()
    assert_large_enough(chat.page)
    part.append("\n\nEnough\n\n" * 60)
    expect(chat.answer_text).to_contain_text("Enough")
    chat.page.locator("#scroller").evaluate("scroller => { scroller.scrollTop = 100; }")
    chat.stop_button.click()
    expect(chat.page.get_by_role("button", name="Retry").first).to_be_visible()
    chat.page.locator("#newer").evaluate("pill => { pill.hidden = false; }")
    assert_large_enough(chat.page)
    menu(chat)
    chat.page.get_by_text("Clear chat").click()
    assert_large_enough(chat.page)

    anybody = make_context().new_page()
    anybody.goto(person.site.url + "/accounts/login/")
    assert_large_enough(anybody)


def test_the_tab_key_reaches_everything_in_order_and_shows_where_it_is(
    chat: Chat, director: Director
) -> None:
    chat.send("@told tabs")
    director.part("tabs").append(CODE).fail("Not done")
    chat.wait_ended()
    chat.page.goto(chat.page.url)
    order = []
    for _ in range(6):
        chat.page.keyboard.press("Tab")
        focus = chat.page.evaluate(FOCUS)
        assert focus["seen"], f"no ring on {focus['name']}"
        order.append(focus["name"].strip())
    assert order == ["skip", "Menu", "Messages", "Copy", "text-button", "text"]
    chat.page.keyboard.type("x")
    expect(chat.field).to_have_value("x")
    chat.page.keyboard.press("Tab")
    assert chat.page.evaluate(FOCUS) == {"name": "Send", "seen": True}


def test_the_skip_link_leads_to_the_field(
    person: Person, make_context: Callable[..., BrowserContext], open_chat: Callable[..., Chat]
) -> None:
    chat = open_chat(person, in_=make_context(person, **DESK))
    chat.wait_connected()
    expect(chat.field).to_be_focused()  # on a desktop one can type at once
    skip = chat.page.locator(".skip")
    expect(skip).not_to_be_in_viewport()
    skip.focus()
    expect(skip).to_be_in_viewport(ratio=1)
    box = skip.bounding_box()
    assert box is not None
    assert box["height"] >= THUMB_PX - 0.5
    skip.press("Enter")
    expect(chat.field).to_be_focused()


def test_the_menu_tells_how_long_messages_are_kept_and_closes_like_a_menu(chat: Chat) -> None:
    panel = menu(chat)
    expect(panel).to_contain_text("newest 200 messages")
    expect(panel).to_contain_text("none older than 30 days")
    expect(panel).to_be_in_viewport(ratio=1)
    chat.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(chat.page.locator(".menu > summary")).to_be_focused()
    menu(chat)
    chat.page.locator("#scroller").tap(position={"x": 30, "y": 500})
    expect(panel).to_be_hidden()


def test_clearing_asks_first_and_can_be_thought_better_of(chat: Chat) -> None:
    chat.send("@display kept")
    chat.wait_answer("kept")
    menu(chat)
    chat.page.get_by_text("Clear chat").click()
    expect(chat.page.locator(".confirm")).to_contain_text("Erase every message here for good?")
    chat.page.get_by_text("Clear chat").click()
    expect(chat.page.get_by_role("button", name="Erase all messages")).to_be_hidden()
    expect(chat.messages).to_have_count(2)


@pytest.mark.parametrize("secure", [True, False])
def test_the_copy_button_copies_the_code_and_nothing_else(
    secure: bool, person: Person, open_chat: Callable[..., Chat], director: Director
) -> None:
    def without_clipboard(page: Page) -> None:
        if not secure:  # as on a phone that came by plain HTTP
            script = "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
            page.add_init_script(script)

    chat = open_chat(person, prepare=without_clipboard)
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chat.send(f"@told copy {secure}")
    director.part(f"copy {secure}").append(f"Before\n\n{CODE}\n\nAfter").finish()
    chat.wait_ended()
    copy = chat.page.get_by_role("button", name="Copy")
    copy.click()
    expect(chat.page.get_by_role("button", name="Copied!")).to_be_visible()
    expect(copy).to_be_visible()  # again, after a moment
    chat.field.press("Control+V")
    expect(chat.field).to_have_value("print('copied')\nprint('exactly')\n")
