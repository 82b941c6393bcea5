"""The main job: send a message and read the answer, now or later."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.director import Director

pytestmark = pytest.mark.browser


def test_a_message_is_sent_and_its_answer_read(chat: Chat, director: Director) -> None:
    chat.send("@told plain")
    part = director.part("plain").append("Hello ", "**wor")
    expect(chat.answer_text).to_contain_text("Hello")
    expect(chat.stop_button).to_be_visible()
    part.append("ld**").finish()

    chat.wait_answer("Hello world")
    chat.wait_idle()
    expect(chat.answer_text.locator("strong")).to_have_text("world")
    assert chat.says() == [("user", "@told plain"), ("agent", "Hello world")]
    expect(chat.stop_button).to_have_count(0)


def test_several_questions_keep_their_order_and_their_answers(
    chat: Chat, director: Director
) -> None:
    for name in ("first", "second", "third"):
        chat.send(f"@told several {name}")
    for name in ("first", "second", "third"):
        director.part(f"several {name}").append(f"Answer {name}").finish()
    expect(chat.answers).to_have_count(3)
    chat.wait_idle()
    expected = [
        says
        for name in ("first", "second", "third")
        for says in (("user", f"@told several {name}"), ("agent", f"Answer {name}"))
    ]
    assert chat.says() == expected
    chat.reload()
    chat.wait_says(*expected)


def test_a_page_closed_during_the_answer_finds_all_of_it_later(
    person: Person,
    make_context: Callable[..., BrowserContext],
    open_chat: Callable[..., Chat],
    director: Director,
) -> None:
    tab = make_context(person)
    chat = open_chat(person, in_=tab)
    chat.send("@told closed")
    part = director.part("closed").append("Half of ")
    chat.wait_state(chat.answer, "streaming")
    chat.page.close()
    part.append("the ")

    halfway = open_chat(person, in_=tab)
    expect(halfway.answer_text).to_have_text("Half of the")
    halfway.wait_state(halfway.answer, "streaming")
    halfway.page.close()
    part.append("answer")
    part.finish()
    assert part.ended.wait(60)

    later = open_chat(person, in_=tab)
    later.wait_answer("Half of the answer")
    later.wait_idle()
    assert later.says() == [("user", "@told closed"), ("agent", "Half of the answer")]
