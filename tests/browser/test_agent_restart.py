"""The agent-server goes away and comes back: between two questions, and in an answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import new_people
from tests.processes import Site

pytestmark = pytest.mark.browser


def test_the_agent_server_restarts_between_two_questions_and_in_an_answer(
    make_site: Callable[..., Site], open_chat: Callable[..., Chat]
) -> None:
    site = make_site()
    chat = open_chat(*new_people(site))
    chat.send("@display first")
    chat.wait_answer("first")
    chat.wait_idle()
    site.restart_agent()
    chat.send("@display second")
    chat.wait_answer("second")
    chat.wait_idle()

    chat.send("@demo stream 4000 60 600")
    expect(chat.answer_text).to_contain_text("Part 1")
    partial = chat.bubbles()[-1].text
    site.restart_agent()
    broken = chat.wait_ended(3)
    assert broken.state == "interrupted"
    assert broken.text.replace("*", "").startswith(partial)  # with the marks that came to no pair
    assert "agent-server restarted" in broken.note

    chat.page.get_by_role("button", name="Retry").click()
    expect(chat.answers).to_have_count(4)
    expect(chat.answer_text).to_contain_text("Part 1")
    chat.stop_button.click()
    chat.wait_state(chat.answer, "cancelled")
    chat.reload()
    chat.wait_state(chat.answer, "cancelled")
    states = [(seen.role, seen.state) for seen in chat.bubbles()]
    assert states == [
        *[("user", "final"), ("agent", "final")] * 2,
        *[("user", "final"), ("agent", "interrupted")],
        *[("user", "cancelled"), ("agent", "cancelled")],
    ]
