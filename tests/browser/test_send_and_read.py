"""The main job: send a message and read the answer, now or later."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
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
