"""The site itself is stopped or killed in an answer and comes back: nothing lost, nothing twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import new_people
from tests.browser.director import Director
from tests.processes import Site

pytestmark = pytest.mark.browser

type MakeSite = Callable[..., Site]
type OpenChat = Callable[..., Chat]


def test_a_restart_and_a_crash_of_the_site_in_an_answer_lose_nothing(
    make_site: MakeSite, open_chat: OpenChat, director: Director
) -> None:
    site = make_site(TYPEAGENT_SERVER_URL=director.url)
    chat = open_chat(*new_people(site))
    chat.send("@told restart")
    part = director.part("restart").append("One ")
    expect(chat.answer_text).to_have_text("One")
    site.stop()
    part.append("two ")
    site.start()
    chat.wait_answer("One two", "streaming")
    part.append("three ")
    expect(chat.answer_text).to_have_text("One two three")
    site.kill()
    part.append("four")
    site.start()
    chat.wait_answer("One two three four", "streaming")
    part.finish()

    chat.wait_answer("One two three four")
    chat.wait_idle()
    said = [("user", "@told restart"), ("agent", "One two three four")]
    assert chat.says() == said
    chat.reload()
    chat.wait_says(*said)
    assert director.count("restart") == 1


def test_c06_a_message_is_durable_once_accepted(
    make_site: MakeSite, open_chat: OpenChat, director: Director
) -> None:
    site = make_site(TYPEAGENT_SERVER_URL=director.url)
    chat = open_chat(*new_people(site))
    chat.wait_connected()
    with director.silent():
        chat.send("@told c06")
        site.kill()
    site.start()
    chat.reload()
    expect(chat.messages.first).to_contain_text("@told c06")

    director.part("c06").append("Reached").finish()
    chat.wait_answer("Reached")
    chat.wait_idle()
    assert chat.says() == [("user", "@told c06"), ("agent", "Reached")]
    assert director.count("c06") == 1


def test_c03_after_a_crash_of_everything_nothing_spins_for_ever(
    make_site: MakeSite, open_chat: OpenChat
) -> None:
    site = make_site()
    chat = open_chat(*new_people(site))
    chat.send("@demo stream 4000 60 600")
    expect(chat.answer_text).to_contain_text("Part 1")
    site.kill()
    site.start()
    chat.reload()

    broken = chat.wait_ended()
    assert broken.state == "interrupted"
    assert "Part 1" in broken.text
    assert broken.note.startswith("Interrupted")
    expect(chat.page.locator("#transcript .dots")).to_have_count(0)
    chat.page.get_by_role("button", name="Retry").click()
    expect(chat.answers).to_have_count(2)
    expect(chat.answer_text).to_contain_text("Part 1")
    chat.wait_state(chat.answer, "streaming")
