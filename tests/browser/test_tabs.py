"""Several pages of one account: in step where they show one conversation, apart where not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, SocketTap
from tests.browser.conftest import Person
from tests.browser.director import Director

if TYPE_CHECKING:
    from playwright.sync_api import APIResponse, BrowserContext, Route

pytestmark = pytest.mark.browser

type OpenChat = Callable[..., Chat]
NEW_CONVERSATION = """
from django.contrib.auth.models import User
made = User.objects.get(username={name!r}).conversations.create()
print("key:" + made.key)
"""


def second_conversation(person: Person) -> str:
    """The path of a conversation that the person has besides their first."""
    said = person.site.manage("shell", "-c", NEW_CONVERSATION.format(name=person.name))
    return f"/c/{said.partition('key:')[2].strip()}/"


def path_of(chat: Chat) -> str:
    return "/" + chat.page.url.split("/", 3)[3]


def in_step(left: Chat, right: Chat) -> None:
    """Until both show the very same bubbles."""
    left.until(lambda: left.bubbles() == right.bubbles(), "both pages show the same")


def test_two_devices_stay_in_step(person: Person, open_chat: OpenChat, director: Director) -> None:
    phone, desk = open_chat(person), open_chat(person)
    for chat in (phone, desk):
        chat.wait_connected()
    phone.send("@told from the phone")
    part = director.part("from the phone").append("One ")
    expect(desk.answer_text).to_have_text("One")
    in_step(phone, desk)
    expect(desk.stop_button).to_be_visible()

    desk.send("@told from the desk")
    expect(phone.messages).to_have_count(3)
    in_step(phone, desk)
    part.append("two").finish()
    director.part("from the desk").append("Three").finish()
    for chat in (phone, desk):
        chat.wait_answer("Three")
        chat.wait_idle()
    in_step(phone, desk)
    assert desk.says() == [
        ("user", "@told from the phone"),
        ("agent", "One two"),
        ("user", "@told from the desk"),
        ("agent", "Three"),
    ]
    assert [seen.state for seen in desk.bubbles()] == ["final"] * 4


def test_c15_a_late_chunk_of_one_conversation_is_never_in_another(
    person: Person,
    make_context: Callable[..., BrowserContext],
    open_chat: OpenChat,
    director: Director,
) -> None:
    tap = SocketTap()
    chat = open_chat(person, prepare=tap.watch)
    first, second = path_of(chat), second_conversation(person)
    chat.send("@told c15 first")
    part = director.part("c15 first").append("Of the ")
    expect(chat.answer_text).to_have_text("Of the")
    part.append("first")
    expect(chat.answer_text).to_have_text("Of the first")
    chunk = next(push for push in reversed(tap.received) if 'class="block"' in push)
    assert "<article" not in chunk

    chat.page.goto(person.site.url + second)
    chat.wait_connected()
    part.append(" conversation")
    tap.push(chunk)  # as if it came too late
    chat.send("@told c15 second")
    director.part("c15 second").append("Of the second").finish()
    chat.wait_answer("Of the second")
    chat.wait_idle()
    assert chat.says() == [("user", "@told c15 second"), ("agent", "Of the second")]

    part.finish()
    chat.page.goto(person.site.url + first)
    chat.wait_answer("Of the first conversation")
    assert chat.says() == [("user", "@told c15 first"), ("agent", "Of the first conversation")]


def test_c20_two_conversations_in_two_tabs_stream_without_mixing(
    person: Person,
    make_context: Callable[..., BrowserContext],
    open_chat: OpenChat,
    director: Director,
) -> None:
    browser = make_context(person)
    left = open_chat(person, in_=browser)
    right = open_chat(person, second_conversation(person), in_=browser)
    left.send("@told c20 left")
    right.send("@told c20 right")
    parts = {name: director.part(f"c20 {name}") for name in ("left", "right")}
    words = [f"word{number} " for number in range(20)]
    for word in words:
        for name, part in parts.items():
            part.append(name + word)
    for part in parts.values():
        part.finish()

    for name, chat in (("left", left), ("right", right)):
        whole = "".join(name + word for word in words).strip()
        chat.wait_answer(whole)
        chat.wait_idle()
        assert chat.says() == [("user", f"@told c20 {name}"), ("agent", whole)]


def test_c21_the_other_tab_shows_the_question_once_and_in_order(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    here, there = open_chat(person), open_chat(person)
    there.wait_connected()
    here.send("@told c21 one")
    here.send("@told c21 two")
    expect(there.messages).to_have_count(2)
    assert there.says() == [("user", "@told c21 one"), ("user", "@told c21 two")]
    for name in ("one", "two"):
        director.part(f"c21 {name}").append(f"Answer {name}").finish()
    there.wait_answer("Answer two")
    there.wait_idle()
    assert there.says() == [
        ("user", "@told c21 one"),
        ("agent", "Answer one"),
        ("user", "@told c21 two"),
        ("agent", "Answer two"),
    ]


def test_c22_an_echo_before_the_answer_to_the_send_makes_no_second_bubble(
    chat: Chat, director: Director
) -> None:
    held: list[tuple[Route, APIResponse]] = []
    chat.page.route("**/messages/", lambda route: held.append((route, route.fetch())))
    chat.press_send("@told c22")
    expect(chat.messages).to_have_count(1)  # by the socket: the POST is not answered yet
    chat.until(lambda: held, "the send reached the site")
    director.part("c22").append("Once").finish()
    chat.wait_answer("Once")
    expect(chat.field).to_have_value("@told c22")

    ((route, response),) = held
    route.fulfill(response=response)
    expect(chat.field).to_have_value("")
    assert chat.says() == [("user", "@told c22"), ("agent", "Once")]
    assert [seen.state for seen in chat.bubbles()] == ["final", "final"]
