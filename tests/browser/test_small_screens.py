"""The composer on a phone: above the keyboard, never zoomed in on, as tall as what is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import PHONE, Person
from tests.browser.director import Director

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.browser

HEIGHT = int(PHONE["viewport"]["height"])
WIDTH = int(PHONE["viewport"]["width"])
KEYBOARD = 420
SMALLEST_FONT_PX = 16
AN_ANSWER = "\n\n".join(f"Paragraph {number} of an answer." for number in range(60))

OVERLAID_KEYBOARD = """
const view = new EventTarget();
Object.assign(view, {
  width: innerWidth, height: innerHeight, scale: 1,
  offsetLeft: 0, offsetTop: 0, pageLeft: 0, pageTop: 0,
});
Object.defineProperty(window, "visualViewport", {value: view});
window.showKeyboard = height => {
  view.height = innerHeight - height;
  view.dispatchEvent(new Event("resize"));
};
"""
"""A browser whose keyboard covers the page and shrinks only the visual viewport, as on iOS."""


def filled(chat: Chat, director: Director, name: str) -> Chat:
    """The chat with an answer longer than the screen."""
    chat.send(f"@told {name}")
    director.part(name).append(AN_ANSWER).finish()
    chat.wait_ended()
    return chat


def assert_usable_above(chat: Chat, bottom: float) -> None:
    """Composer and header are on the screen, the transcript scrolls inside, the page does not."""
    box = chat.page.locator("#composer textarea").bounding_box()
    top = chat.page.locator("h1").bounding_box()
    scroller = chat.page.locator("#scroller").bounding_box()
    assert box is not None
    assert top is not None
    assert scroller is not None
    assert top["y"] >= 0
    assert box["y"] + box["height"] <= bottom
    assert scroller["height"] >= 100
    assert scroller["y"] + scroller["height"] <= box["y"]
    scrolled = chat.page.evaluate(
        "() => { scrollTo(0, 500); const e = document.scrollingElement; return e.scrollTop; }"
    )
    assert scrolled == 0
    within = chat.page.locator("#scroller").evaluate("e => e.scrollHeight > e.clientHeight")
    assert within
    expect(chat.answer_text.locator(".block").last).to_be_in_viewport()


def test_c85_a_keyboard_that_takes_room_leaves_the_composer_and_the_end_visible(
    chat: Chat, director: Director
) -> None:
    filled(chat, director, "c85 room")
    assert_usable_above(chat, HEIGHT)
    chat.field.tap()
    chat.page.set_viewport_size({"width": WIDTH, "height": HEIGHT - KEYBOARD})
    assert_usable_above(chat, HEIGHT - KEYBOARD)
    chat.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    assert_usable_above(chat, HEIGHT)


def test_c85_a_keyboard_that_covers_the_page_leaves_the_composer_above_it(
    person: Person, open_chat: Callable[..., Chat], director: Director
) -> None:
    chat = open_chat(person, prepare=lambda page: page.add_init_script(OVERLAID_KEYBOARD))
    filled(chat, director, "c85 covered")
    chat.field.tap()
    chat.page.evaluate("height => showKeyboard(height)", KEYBOARD)
    assert_usable_above(chat, HEIGHT - KEYBOARD)
    chat.page.evaluate("showKeyboard(0)")
    assert_usable_above(chat, HEIGHT)
    box = chat.page.locator(".dock").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] == HEIGHT


def fonts(page: Page) -> list[float]:
    """The sizes of the letters in all fields, in px."""
    sizes: list[float] = page.locator("input:not([type=hidden]), textarea, select").evaluate_all(
        "fields => fields.map(field => parseFloat(getComputedStyle(field).fontSize))"
    )
    return sizes


def test_c86_no_field_is_small_enough_to_be_zoomed_in_on(
    person: Person, make_context: Callable[..., BrowserContext]
) -> None:
    page = make_context(person).new_page()
    anybody = make_context().new_page()
    page.goto(person.site.url)
    anybody.goto(person.site.url + "/accounts/login/")
    for shown, count in ((page, 1), (anybody, 2)):
        sizes = fonts(shown)
        assert len(sizes) == count
        assert min(sizes) >= SMALLEST_FONT_PX
        viewport = shown.locator("meta[name=viewport]").get_attribute("content") or ""
        said = dict(part.strip().split("=") for part in viewport.split(","))
        assert said["width"] == "device-width"
        assert said["viewport-fit"] == "cover"  # else safe-area insets are all 0
        assert said["interactive-widget"] == "resizes-content"
        assert not {"user-scalable", "maximum-scale", "minimum-scale"} & said.keys()


def test_the_composer_grows_with_the_text_to_a_limit_and_shrinks_again(chat: Chat) -> None:
    def height() -> float:
        box = chat.field.bounding_box()
        assert box is not None
        return box["height"]

    one = height()
    chat.field.fill("one\ntwo\nthree")
    three = height()
    assert one + 40 < three
    chat.field.fill("word " * 60)  # grows by wrapping too
    assert three < height()
    chat.field.fill("line\n" * 200)
    most = height()
    assert three < most < HEIGHT / 2
    assert chat.field.evaluate("field => field.scrollHeight > field.clientHeight")
    expect(chat.page.locator("#composer button[type=submit]")).to_be_in_viewport()
    chat.field.fill("")
    assert height() == one
    chat.send("@display a\nb\nc")
    assert height() == one
