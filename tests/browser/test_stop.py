"""Stop ends the work itself, keeps what was said, and leaves the composer ready."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.director import Director

pytestmark = pytest.mark.browser


def test_c17_a_stop_goes_to_the_agent_server_and_waits_for_its_word(
    chat: Chat, director: Director
) -> None:
    chat.send("@told c17")
    part = director.part("c17").append("Working")
    chat.wait_answer("Working", "streaming")
    with director.silent():
        with chat.page.expect_response("**/stop/") as stopped:
            chat.stop_button.click()
        assert stopped.value.ok
        chat.reload()
        chat.wait_state(chat.answer, "streaming")
        expect(chat.running).to_have_attribute("data-running", "1")
        assert not part.ended.is_set()

    chat.wait_answer("Working", "cancelled")
    chat.wait_idle()
    assert part.ended.wait(60)
    assert part.cancelled


def test_c17_a_message_sent_right_after_a_stop_is_answered(chat: Chat, director: Director) -> None:
    chat.send("@told c17 old")
    old = director.part("c17 old").append("Old")
    chat.wait_answer("Old", "streaming")
    chat.stop_button.click()
    chat.send("@told c17 new")
    director.part("c17 new").append("New").finish()

    chat.wait_answer("New")
    chat.wait_idle()
    assert old.cancelled
    assert [(*seen.says, seen.state) for seen in chat.bubbles()] == [
        ("user", "@told c17 old", "cancelled"),
        ("agent", "Old", "cancelled"),
        ("user", "@told c17 new", "final"),
        ("agent", "New", "final"),
    ]


def test_c18_a_stopped_answer_keeps_what_was_said_and_says_stopped(
    chat: Chat, director: Director
) -> None:
    chat.send("@told c18")
    director.part("c18").append("one ", "two ", "three")
    chat.wait_answer("one two three", "streaming")
    chat.stop_button.click()
    chat.wait_answer("one two three", "cancelled")
    chat.wait_idle()

    chat.reload()
    chat.wait_answer("one two three", "cancelled")
    question, answer = chat.bubbles()
    assert question.says == ("user", "@told c18")
    assert (answer.text, answer.state, answer.note) == ("one two three", "cancelled", "Stopped")
