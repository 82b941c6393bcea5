"""With JavaScript off one can read, send, stop, clear and log out: by forms and reloads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.director import Director

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator

pytestmark = pytest.mark.browser


def press(chat: Chat, button: Locator, path: str) -> None:
    """Press a form's button: it is answered 303 back to the page, which comes anew."""
    with chat.page.expect_response(lambda answer: answer.url.endswith(path)) as posted:
        button.click()
    assert (posted.value.request.method, posted.value.status) == ("POST", 303)
    chat.page.wait_for_load_state("load")


def reload_until(chat: Chat, locator: Locator, text: str) -> None:
    """As a reader without scripts does it."""
    for _ in range(200):
        chat.page.reload()
        if locator.count() and text in locator.last.inner_text():
            return
    raise AssertionError(f"never there: {text}")


@pytest.fixture
def plain(person: Person, make_context: Callable[..., BrowserContext]) -> Chat:
    """The chat in a browser that runs no scripts."""
    page = make_context(person, java_script_enabled=False).new_page()
    page.goto(person.site.url)
    return Chat(page)


def test_one_sends_reads_stops_and_clears(plain: Chat, director: Director) -> None:
    send = plain.page.locator("#composer button[type=submit]")
    plain.field.fill("@told plain html")
    press(plain, send, "/messages/")
    expect(plain.messages).to_have_count(1)
    expect(plain.field).to_have_value("")
    director.part("plain html").append("No **script**").finish()
    reload_until(plain, plain.answers, "No script")
    expect(plain.answer_text.locator("strong")).to_have_text("script")

    plain.field.fill("@told plain stop")
    press(plain, send, "/messages/")
    part = director.part("plain stop").append("Half")
    reload_until(plain, plain.answers, "Half")
    press(plain, plain.stop_button, "/stop/")
    assert part.ended.wait(60)
    assert part.cancelled
    reload_until(plain, plain.answers, "Stopped")
    expect(plain.stop_button).to_have_count(0)

    plain.page.get_by_label("Menu").click()
    plain.page.get_by_text("Clear chat").click()
    press(plain, plain.page.get_by_role("button", name="Erase all messages"), "/clear/")
    expect(plain.messages).to_have_count(0)


def test_one_logs_out(plain: Chat) -> None:
    address = plain.page.url
    plain.page.get_by_label("Menu").click()
    plain.page.get_by_role("button", name="Log out").click()
    plain.page.wait_for_url("**/accounts/login/**")
    plain.page.goto(address)
    plain.page.wait_for_url("**/accounts/login/**")


def test_a_refused_message_is_explained_and_its_text_kept(plain: Chat) -> None:
    text = "word " * 4_001
    plain.field.fill(text)
    plain.page.locator("#composer button[type=submit]").click()
    expect(plain.error).not_to_be_empty()
    expect(plain.field).to_have_value(text)
    expect(plain.messages).to_have_count(0)
