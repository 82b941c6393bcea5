"""However often and fast one presses, a message is sent once; said twice, it is sent twice."""

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
    from playwright.sync_api import BrowserContext, Route

pytestmark = pytest.mark.browser


def assert_sent_once(chat: Chat, director: Director, name: str, held: list[Route]) -> None:
    """Let go of what was sent: it was one request, and comes to one question."""
    (only,) = held
    only.continue_()
    expect(chat.field).to_have_value("")
    director.part(name).append("Once").finish()
    chat.wait_answer("Once")
    chat.wait_idle()
    assert len(held) == 1
    assert chat.says() == [("user", f"@told {name}"), ("agent", "Once")]
    assert director.count(name) == 1


def test_c69_enter_again_and_held_down_on_a_slow_network_sends_once(
    person: Person,
    make_context: Callable[..., BrowserContext],
    open_chat: Callable[..., Chat],
    director: Director,
) -> None:
    chat = open_chat(person, in_=make_context(person, **DESK))
    chat.wait_connected()
    held: list[Route] = []
    chat.page.route("**/messages/", lambda route: held.append(route))
    chat.field.fill("@told c69 enter")
    chat.field.press("Enter")
    chat.field.press("Enter")
    chat.until(lambda: held, "it is sent")
    chat.field.press("Enter")
    chat.page.keyboard.down("Enter")
    chat.page.keyboard.down("Enter")
    chat.page.keyboard.up("Enter")
    assert_sent_once(chat, director, "c69 enter", held)


def test_c69_a_double_tap_on_a_slow_network_sends_once(chat: Chat, director: Director) -> None:
    held: list[Route] = []
    chat.page.route("**/messages/", lambda route: held.append(route))
    chat.field.fill("@told c69 tap")
    box = chat.page.locator("#composer button[type=submit]").bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    chat.page.touchscreen.tap(*middle)
    chat.page.touchscreen.tap(*middle)
    chat.until(lambda: held, "it is sent")
    chat.page.touchscreen.tap(*middle)
    assert_sent_once(chat, director, "c69 tap", held)


def test_c69_the_same_words_on_purpose_are_sent_twice(chat: Chat) -> None:
    chat.send("@display ok")
    chat.send("@display ok")
    expect(chat.answers).to_have_count(2)
    chat.wait_idle()
    assert chat.says() == [("user", "@display ok"), ("agent", "ok")] * 2
