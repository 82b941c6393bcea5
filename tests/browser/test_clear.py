"""Clearing a chat, by its user and by staff: gone at once on every page, and never back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person, new_people
from tests.browser.director import Director

if TYPE_CHECKING:
    from playwright.sync_api import APIResponse, Route

pytestmark = pytest.mark.browser

type OpenChat = Callable[..., Chat]


def open_menu(chat: Chat) -> None:
    chat.page.get_by_label("Menu").click()
    chat.page.get_by_text("Clear chat").click()


def assert_cleared_for_good(chats: list[Chat], director: Director, name: str) -> None:
    """The pages are empty, stay so, and the next message works on all of them."""
    for chat in chats:
        expect(chat.messages).to_have_count(0)
        chat.wait_idle()
    for chat in chats:
        chat.reload()
        expect(chat.messages).to_have_count(0)
        chat.wait_connected()
    chats[0].send(f"@told {name}")
    director.part(name).append("Afterwards").finish()
    for chat in chats:
        chat.wait_answer("Afterwards")
        chat.wait_idle()
        chat.reload()
        chat.wait_says(("user", f"@told {name}"), ("agent", "Afterwards"))


def test_the_page_asks_before_it_clears(chat: Chat, director: Director) -> None:
    chat.send("@told clear asks")
    director.part("clear asks").append("Kept").finish()
    chat.wait_answer("Kept")
    erase = chat.page.get_by_role("button", name="Erase all messages")
    expect(erase).to_be_hidden()
    open_menu(chat)
    expect(erase).to_be_visible()
    chat.page.keyboard.press("Escape")
    expect(erase).to_be_hidden()
    chat.reload()
    chat.wait_says(("user", "@told clear asks"), ("agent", "Kept"))


def test_a_clear_in_an_answer_empties_every_open_page_for_good(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    here, there = open_chat(person), open_chat(person)
    there.wait_connected()
    here.send("@told clear here")
    part = director.part("clear here").append("Soon gone")
    for chat in (here, there):
        chat.wait_answer("Soon gone", "streaming")
    open_menu(here)
    here.page.get_by_role("button", name="Erase all messages").click()
    for chat in (here, there):
        expect(chat.messages).to_have_count(0)
    expect(here.page.locator(".menu .panel")).to_be_hidden()
    assert part.ended.wait(60)  # it was stopped
    assert_cleared_for_good([here, there], director, "clear here after")


def test_an_answer_to_a_send_that_comes_after_a_clear_brings_nothing_back(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    here, there = open_chat(person), open_chat(person)
    here.wait_connected()
    held: list[tuple[Route, APIResponse]] = []
    here.page.route("**/messages/", lambda route: held.append((route, route.fetch())))
    here.press_send("@told clear late")
    expect(there.messages).to_have_count(1)
    expect(here.messages).to_have_count(1)
    here.until(lambda: held, "the send reached the site")
    director.part("clear late")
    open_menu(there)
    there.page.get_by_role("button", name="Erase all messages").click()
    expect(here.messages).to_have_count(0)

    ((route, response),) = held
    route.fulfill(response=response)
    expect(here.field).to_have_value("")
    expect(here.messages).to_have_count(0)
    here.page.unroute("**/messages/")
    assert_cleared_for_good([here, there], director, "clear late after")


def test_staff_clear_in_an_answer_and_open_pages_are_empty_at_once(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    chat = open_chat(person)
    key = chat.page.locator("main").get_attribute("data-conversation")
    chat.send("@told clear admin")
    part = director.part("clear admin").append("Soon gone")
    chat.wait_answer("Soon gone", "streaming")

    (staff,) = new_people(person.site, staff=True)
    admin = open_chat(staff, f"/admin/chat/conversation/?q={key}").page
    admin.locator("input.action-select").check()
    admin.locator("select[name=action]").select_option(label="Clear messages")
    admin.locator("button[name=index]").click()
    expect(admin.locator("#content")).to_contain_text("Erase every message")
    assert chat.says()[0] == ("user", "@told clear admin")  # it asks first
    admin.locator("#content input[type=submit]").click()
    expect(admin.locator(".messagelist")).to_contain_text("Cleared the messages")

    expect(chat.messages).to_have_count(0)
    assert part.ended.wait(60)
    assert_cleared_for_good([chat], director, "clear admin after")
