"""What Enter does: sends on a desktop, begins a line on a phone, and is left to input methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.desk import DESK

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

pytestmark = pytest.mark.browser

PRESS_ENTER = """
(field, options) => {
  const event = new KeyboardEvent(
    "keydown", {key: "Enter", code: "Enter", bubbles: true, cancelable: true, ...options});
  field.dispatchEvent(event);
  return event.defaultPrevented;
}
"""


@pytest.fixture
def desk(
    person: Person, make_context: Callable[..., BrowserContext], open_chat: Callable[..., Chat]
) -> Chat:
    """The empty chat of a new user on a desktop."""
    chat = open_chat(person, in_=make_context(person, **DESK))
    chat.wait_connected()
    return chat


def test_c84_enter_that_ends_a_composition_does_not_send(desk: Chat) -> None:
    posted: list[str] = []
    desk.page.on("request", lambda request: posted.append(request.method))
    desk.field.fill("@display kana")
    for composing in ({"isComposing": True, "keyCode": 229}, {"isComposing": True}):
        assert not desk.field.evaluate(PRESS_ENTER, composing)
    # Safari ends the composition before it tells of the key.
    assert not desk.field.evaluate(PRESS_ENTER, {"isComposing": False, "keyCode": 229})
    expect(desk.field).to_have_value("@display kana")

    assert desk.field.evaluate(PRESS_ENTER, {"isComposing": False, "keyCode": 13})
    desk.wait_answer("kana")
    assert posted.count("POST") == 1
    assert desk.says() == [("user", "@display kana"), ("agent", "kana")]


def test_enter_sends_on_a_desktop_and_shift_enter_begins_a_line(desk: Chat) -> None:
    desk.field.press_sequentially("@display one")
    desk.field.press("Shift+Enter")
    desk.field.press_sequentially("two")
    expect(desk.field).to_have_value("@display one\ntwo")
    desk.field.press("Enter")
    expect(desk.field).to_have_value("")
    desk.wait_answer("one two")
    assert desk.messages.first.locator("[data-body]").inner_text() == "@display one\ntwo"


def test_enter_in_an_empty_field_sends_nothing(desk: Chat) -> None:
    posted: list[str] = []
    desk.page.on("request", lambda request: posted.append(request.method))
    desk.field.press("Enter")
    desk.field.press_sequentially("   ")
    desk.field.press("Enter")
    desk.page.locator("#composer button[type=submit]").click()
    desk.send("@display something")
    desk.wait_answer("something")
    assert posted.count("POST") == 1


def test_enter_begins_a_line_on_a_phone_and_the_button_sends(chat: Chat) -> None:
    chat.field.press_sequentially("@display one")
    chat.field.press("Enter")
    chat.field.press_sequentially("two")
    expect(chat.field).to_have_value("@display one\ntwo")
    expect(chat.messages).to_have_count(0)
    chat.page.locator("#composer button[type=submit]").tap()
    chat.wait_answer("one two")
    assert len(chat.says()) == 2
