"""What happens to the page's own socket changes nothing of the conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, SocketTap
from tests.browser.conftest import Person
from tests.browser.director import Director

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = pytest.mark.browser

type OpenChat = Callable[..., Chat]


def questions(person: Person) -> list[str]:
    """What the person has asked, as the site has it."""
    rows = person.site.query(
        "SELECT r.text FROM chat_request r JOIN chat_conversation c ON r.conversation_id = c.id"
        " JOIN auth_user u ON c.user_id = u.id WHERE u.username = ? ORDER BY r.seq",
        person.name,
    )
    return [text for (text,) in rows]


def lose_the_answer(route: Route) -> None:
    """The request reaches the site, and its answer nobody."""
    route.fetch()
    route.abort()


def test_c05_a_reload_after_the_socket_was_cut_shows_what_runs(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    tap = SocketTap()
    chat = open_chat(person, prepare=tap.watch)
    chat.wait_connected()
    chat.send("@told c05")
    tap.cut(1011)
    part = director.part("c05")
    chat.reload()

    assert chat.says() == [("user", "@told c05")]
    expect(chat.running).to_have_attribute("data-running", "1")
    expect(chat.stop_button).to_be_visible()
    expect(chat.field).to_have_value("")
    part.append("One reply").finish()
    chat.wait_answer("One reply")
    chat.wait_idle()
    assert chat.says() == [("user", "@told c05"), ("agent", "One reply")]


def test_c05_a_message_whose_acceptance_was_never_heard_is_not_offered_again(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    chat = open_chat(person)
    chat.wait_connected()

    chat.page.route("**/messages/", lose_the_answer)
    chat.press_send("@told c05 unheard")
    expect(chat.messages.first).to_contain_text("@told c05 unheard")  # by the socket
    expect(chat.field).to_have_value("")
    expect(chat.error).to_be_empty()
    director.part("c05 unheard").append("One reply").finish()
    chat.wait_answer("One reply")
    assert questions(person) == ["@told c05 unheard"]


def test_c05_nor_is_it_after_a_reload(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    tap = SocketTap()
    chat = open_chat(person, prepare=tap.watch)
    chat.wait_connected()
    tap.hold()

    chat.page.route("**/messages/", lose_the_answer)
    chat.press_send("@told c05 reload")
    expect(chat.error).to_contain_text("No connection")
    chat.page.unroute("**/messages/")
    tap.held = None
    chat.reload()
    expect(chat.messages.first).to_contain_text("@told c05 reload")
    expect(chat.running).to_have_attribute("data-running", "1")
    expect(chat.field).to_have_value("")
    director.part("c05 reload").append("One reply").finish()
    chat.wait_answer("One reply")
    assert questions(person) == ["@told c05 reload"]


def test_c05_pressing_send_again_after_a_lost_answer_sends_nothing_twice(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    tap = SocketTap()
    chat = open_chat(person, prepare=tap.watch)
    chat.wait_connected()
    tap.hold()

    chat.page.route("**/messages/", lose_the_answer)
    chat.press_send("@told c05 again")
    expect(chat.error).to_contain_text("No connection")
    chat.page.unroute("**/messages/")
    chat.page.locator("#composer button[type=submit]").click()
    expect(chat.field).to_have_value("")
    tap.release()
    director.part("c05 again").append("One reply").finish()
    chat.wait_answer("One reply")
    chat.wait_idle()
    assert questions(person) == ["@told c05 again"]
    assert chat.says() == [("user", "@told c05 again"), ("agent", "One reply")]


def test_c07_the_same_pushes_again_change_nothing(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    tap = SocketTap()
    chat = open_chat(person, prepare=tap.watch)
    chat.wait_connected()
    chat.send("@told c07")
    part = director.part("c07").append("Hello")
    chat.wait_answer("Hello", "streaming")
    before = chat.bubbles()
    for push in list(tap.received[-3:]):
        tap.push(push)
        tap.push(push)
    tap.push('<i id="m-seen" hx-swap-oob="upsert:main"></i>')
    expect(chat.page.locator("#m-seen")).to_be_attached()
    assert chat.bubbles() == before

    part.append(", you").finish()
    chat.wait_answer("Hello, you")
    chat.wait_idle()
    assert chat.says() == [("user", "@told c07"), ("agent", "Hello, you")]


@pytest.mark.parametrize("code", [1000, 1001, 1011, 1012])
def test_c09_a_socket_that_closes_mid_answer_ends_no_answer(
    code: int, person: Person, open_chat: OpenChat, director: Director
) -> None:
    tap = SocketTap()
    chat = open_chat(person, prepare=tap.watch)
    chat.wait_connected()
    chat.send(f"@told c09 {code}")
    part = director.part(f"c09 {code}").append("Before")
    chat.wait_answer("Before", "streaming")

    tap.cut(code)
    part.append(" and after")
    chat.until(lambda: len(tap.routes) == 2, "the page connects again")
    chat.wait_answer("Before and after", "streaming")
    expect(chat.stop_button).to_be_visible()
    part.finish()
    chat.wait_answer("Before and after")
    chat.wait_idle()
    assert not part.cancelled
    assert len(tap.routes) == 2


def test_c10_an_answer_that_ended_while_the_page_was_away_is_final_without_a_reload(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    tap = SocketTap()
    chat = open_chat(person, prepare=tap.watch)
    chat.wait_connected()
    chat.send("@told c10")
    part = director.part("c10").append("Begun")
    chat.wait_answer("Begun", "streaming")
    tap.hold()
    part.append(", ended").finish()
    assert part.ended.wait(60)
    tap.cut(1000)
    tap.release()
    chat.wait_answer("Begun, ended")
    chat.wait_idle()
