"""Offline and back: what came meanwhile is shown, what was typed is kept and sent once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, SocketTap
from tests.browser.conftest import Person, new_people
from tests.browser.converse import converse, press_again
from tests.browser.director import Director
from tests.browser.network import Network
from tests.browser.truth import Truth
from tests.processes import Site
from tests.survival.rounds import rounds

pytestmark = pytest.mark.browser

AWAY_MS = 800

type OpenChat = Callable[..., Chat]
COMPOSER = """<form id="composer" hx-swap-oob="true" method="post" action="/nowhere/">
<textarea name="text" id="text">Not mine</textarea><button type="submit">Send</button></form>"""


@pytest.fixture
def network(chat_site: Site) -> Iterator[Network]:
    with Network(chat_site.url) as network:
        yield network


@pytest.fixture
def phone(person: Person, network: Network, open_chat: OpenChat) -> Chat:
    chat = open_chat(person, network.url)
    chat.wait_connected()
    chat.page.evaluate("() => { window.same = true; }")
    return chat


@pytest.fixture
def desk(person: Person, open_chat: OpenChat) -> Chat:
    """Another device of the same person."""
    chat = open_chat(person)
    chat.wait_connected()
    return chat


@pytest.fixture
def truth(phone: Chat, chat_site: Site, director: Director) -> Truth:
    return Truth(phone, chat_site.url, chat_site.database, director.data)


def test_c30_what_was_said_while_the_page_was_offline_is_there_when_it_is_back(
    phone: Chat, desk: Chat, truth: Truth, director: Director
) -> None:
    phone.page.context.set_offline(True)
    expect(phone.connection).to_contain_text("You are offline.")
    for number in (1, 2):
        desk.send(f"@told c30 {number}")
        director.part(f"c30 {number}").append(f"Answer {number}").finish()
        desk.wait_answer(f"Answer {number}")
    expect(phone.messages).to_have_count(0)
    phone.page.context.set_offline(False)
    phone.wait_answer("Answer 2")
    phone.wait_connected()
    truth.check(["@told c30 1", "@told c30 2"], desk)
    assert phone.page.evaluate("window.same")


def test_c34_what_is_sent_while_offline_is_kept_with_an_error_and_goes_once_when_pressed_again(
    phone: Chat, truth: Truth, director: Director
) -> None:
    phone.page.context.set_offline(True)
    phone.press_send("@told c34 offline")
    expect(phone.error).to_contain_text("Your text is kept")
    expect(phone.error).to_be_in_viewport()
    expect(phone.field).to_have_value("@told c34 offline")
    phone.page.context.set_offline(False)
    phone.wait_connected()
    expect(phone.field).to_have_value("@told c34 offline")
    expect(phone.messages).to_have_count(0)
    press_again(phone)
    director.part("c34 offline").append("Once").finish()
    phone.wait_answer("Once")
    expect(phone.error).to_be_empty()
    truth.check(["@told c34 offline"])


def test_c34_what_is_sent_while_the_site_is_stopped_is_kept_and_goes_once(
    make_site: Callable[..., Site], open_chat: OpenChat, director: Director
) -> None:
    site = make_site(TYPEAGENT_SERVER_URL=director.url)
    chat = open_chat(*new_people(site))
    chat.wait_connected()
    site.stop()
    chat.press_send("@told c34 stopped")
    expect(chat.error).to_contain_text("Your text is kept")
    expect(chat.field).to_have_value("@told c34 stopped")
    site.start()
    chat.wait_connected()
    press_again(chat)
    director.part("c34 stopped").append("Once").finish()
    chat.wait_answer("Once")
    Truth(chat, site.url, site.database, director.data).check(["@told c34 stopped"])


def test_c33_what_is_sent_while_the_socket_is_closed_arrives(
    phone: Chat, truth: Truth, network: Network, director: Director
) -> None:
    network.without_sockets = True
    network.close_sockets(1011)
    expect(phone.connection).to_contain_text("No connection to the site.")
    phone.send("@told c33")
    expect(phone.messages.first).to_contain_text("@told c33")
    director.part("c33").append("Heard").finish()

    def read_anew() -> bool:  # a page without a socket is still a page
        phone.reload()
        return phone.says()[1:] == [("agent", "Heard")]

    phone.until(read_anew, "the answer is stored")
    phone.wait_answer("Heard")
    network.without_sockets = False
    phone.wait_connected()
    truth.check(["@told c33"])


def test_c32_a_push_that_would_replace_the_message_field_leaves_it_as_it_is(
    person: Person, open_chat: OpenChat, chat_site: Site, director: Director
) -> None:
    tap = SocketTap()
    chat = open_chat(person, prepare=tap.watch)
    chat.wait_connected()
    chat.field.fill("@told c32")
    tap.push(COMPOSER + '<i id="m-seen" hx-swap-oob="upsert:main"></i>')
    expect(chat.page.locator("#m-seen")).to_be_attached()
    expect(chat.field).to_have_value("@told c32")
    chat.page.locator("#m-seen").evaluate("mark => mark.remove()")
    chat.page.locator("#composer button[type=submit]").click()
    director.part("c32").append("Sent all the same").finish()
    chat.wait_answer("Sent all the same")
    expect(chat.field).to_have_value("")
    Truth(chat, chat_site.url, chat_site.database, director.data).check(["@told c32"])


@rounds()
def test_going_offline_at_random_moments_loses_nothing(
    seed: int, phone: Chat, desk: Chat, truth: Truth, director: Director
) -> None:
    rng = random.Random(seed)  # noqa: S311 - not a secret
    context = phone.page.context
    extra = 0

    def disturb(sent: list[str]) -> None:
        nonlocal extra
        context.set_offline(True)
        if rng.random() < 0.5:
            extra += 1
            text = f"@display typed offline {seed} {extra}"
            phone.press_send(text)
            expect(phone.error).not_to_be_empty()
            sent.append(text)
        phone.page.wait_for_timeout(rng.random() * AWAY_MS)
        context.set_offline(False)
        press_again(phone)

    truth.check(converse(phone, director, f"offline {seed}", rng, disturb), desk)
    assert phone.page.evaluate("window.same")
