"""Typed text is not lost: by no reload, refusal or end of a session; nor is it shown to others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import SESSION_COOKIE, Person
from tests.browser.director import Director

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Route

pytestmark = pytest.mark.browser

type MakeContext = Callable[..., BrowserContext]
type OpenChat = Callable[..., Chat]
PASSWORD = "correct horse, and a battery"
WITH_PASSWORD = """
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
user = User.objects.get(username={name!r})
user.set_password({password!r})
user.save()
client = Client()
client.force_login(user)
print("session:" + client.cookies[settings.SESSION_COOKIE_NAME].value)
"""


def with_password(person: Person) -> Person:
    """The same person, who can now log in by the form too."""
    script = WITH_PASSWORD.format(name=person.name, password=PASSWORD)
    session = person.site.manage("shell", "-c", script).partition("session:")[2].strip()
    return Person(person.site, person.name, session)


def stored(chat: Chat) -> str:
    """All that the browser keeps for the site."""
    return str(chat.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])"))


def test_c70_typed_text_survives_a_reload(chat: Chat) -> None:
    chat.field.press_sequentially("Half a thought")
    chat.reload()
    expect(chat.field).to_have_value("Half a thought")
    chat.field.fill("")
    chat.reload()
    expect(chat.field).to_have_value("")


def test_c70_a_refused_text_is_still_there_after_a_reload(chat: Chat) -> None:
    chat.page.route("**/messages/", lambda route: route.fulfill(status=403, body="no"))
    chat.press_send("Refused once")
    expect(chat.error).not_to_be_empty()
    chat.page.unroute("**/messages/")
    chat.reload()
    expect(chat.field).to_have_value("Refused once")
    expect(chat.messages).to_have_count(0)


def test_c66_c70_a_session_that_ended_leads_to_the_log_in_and_back_to_the_text(
    person: Person, make_context: MakeContext, open_chat: OpenChat, director: Director
) -> None:
    person = with_password(person)
    browser = make_context(person)
    chat = open_chat(person, in_=browser)
    chat.wait_connected()
    address = chat.page.url
    browser.clear_cookies(name=SESSION_COOKIE)
    chat.press_send("@told c70 session")

    chat.page.wait_for_url(re.compile("/accounts/login/"))
    expect(chat.page.locator("main[data-conversation]")).to_have_count(0)
    expect(chat.page.locator("main")).to_have_count(1)
    chat.page.get_by_label("Username").fill(person.name)
    chat.page.get_by_label("Password").fill(PASSWORD)
    chat.page.get_by_role("button", name="Log in").click()
    chat.page.wait_for_url(address)
    expect(chat.field).to_have_value("@told c70 session")
    expect(chat.messages).to_have_count(0)

    chat.page.locator("#composer button[type=submit]").click()
    director.part("c70 session").append("Welcome back").finish()
    chat.wait_answer("Welcome back")
    assert chat.says() == [("user", "@told c70 session"), ("agent", "Welcome back")]


def test_c70_another_user_of_the_browser_does_not_see_the_text(
    person: Person, strangers: list[Person], make_context: MakeContext, open_chat: OpenChat
) -> None:
    other = strangers.pop()
    browser = make_context(person)
    chat = open_chat(person, in_=browser)
    chat.field.press_sequentially("For my eyes only")

    def change_to(who: Person) -> None:
        browser.clear_cookies()
        cookie = {"name": SESSION_COOKIE, "value": who.session, "url": who.site.url}
        browser.add_cookies([cookie])  # type: ignore[list-item]
        chat.page.goto(who.site.url)
        chat.wait_connected()

    change_to(other)
    expect(chat.field).to_have_value("")
    assert "my eyes" not in chat.page.content()
    change_to(person)
    expect(chat.field).to_have_value("For my eyes only")


def test_c70_a_log_out_removes_the_text_from_the_browser(chat: Chat) -> None:
    chat.field.press_sequentially("Secret")
    chat.until(lambda: "Secret" in stored(chat), "the draft is kept")
    chat.page.get_by_label("Menu").click()
    chat.page.get_by_role("button", name="Log out").click()
    chat.page.wait_for_url("**/accounts/login/**")
    assert "Secret" not in stored(chat)


def test_c70_the_field_is_cleared_only_once_the_site_has_the_text(
    chat: Chat, director: Director
) -> None:
    held: list[Route] = []
    chat.page.route("**/messages/", lambda route: held.append(route))
    chat.press_send("@told c70 slow")
    chat.until(lambda: held, "it is sent")
    expect(chat.field).to_have_value("@told c70 slow")
    held[0].continue_()
    expect(chat.field).to_have_value("")
    assert "c70 slow" not in stored(chat)
    director.part("c70 slow").finish()
    chat.wait_idle()


@pytest.mark.parametrize(
    ("changed", "left"),
    [
        ("@told c70 typing and then", " and then"),
        ("Now something else", "Now something else"),
    ],
)
def test_c70_what_is_typed_while_a_message_is_sent_is_kept(
    changed: str, left: str, chat: Chat, director: Director
) -> None:
    times = director.count("c70 typing")
    held: list[Route] = []
    chat.page.route("**/messages/", lambda route: held.append(route))
    chat.press_send("@told c70 typing")
    chat.until(lambda: held, "it is sent")
    chat.field.fill(changed)
    held[0].continue_()
    director.part("c70 typing", times + 1).append("Got it").finish()
    chat.wait_answer("Got it")
    expect(chat.page.locator("#composer")).not_to_have_class(re.compile("htmx-request"))
    expect(chat.field).to_have_value(left)
    chat.reload()
    expect(chat.field).to_have_value(left)
    assert len(held) == 1
