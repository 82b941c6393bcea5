"""Whatever code its socket is closed with, the page comes back and has everything; only the end of
the login or of the conversation makes it leave.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.converse import converse
from tests.browser.director import Director
from tests.browser.network import Network
from tests.browser.truth import Truth
from tests.processes import Site
from tests.survival.rounds import rounds

pytestmark = pytest.mark.browser

SENT_BY_A_SITE = [None, 1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014]
FORBIDDEN_ON_THE_WIRE = [1004, 1005, 1006, 1015]
"""No honest end sends these. What breaks proxies may."""

OF_APPLICATIONS = [3000, 4000]
SAID = {4401: "You are logged out.", 4404: "This conversation is no longer here."}
ALL = [*SENT_BY_A_SITE, *FORBIDDEN_ON_THE_WIRE, *OF_APPLICATIONS]

type OpenChat = Callable[..., Chat]


@pytest.fixture(scope="module")
def network(chat_site: Site) -> Iterator[Network]:
    with Network(chat_site.url) as network:
        yield network


@pytest.fixture
def chat(person: Person, network: Network, open_chat: OpenChat) -> Chat:
    chat = open_chat(person, network.url)
    chat.wait_connected()
    return chat


@pytest.fixture
def truth(chat: Chat, chat_site: Site, director: Director) -> Truth:
    return Truth(chat, chat_site.url, chat_site.database, director.data)


def test_c28_a_close_without_any_fault_is_no_end(
    chat: Chat, truth: Truth, network: Network, director: Director
) -> None:
    before = network.sockets
    network.close_sockets(1000)
    chat.until(lambda: network.sockets == before + 1, "the page connects again")
    chat.wait_connected()
    chat.send("@told c28")
    director.part("c28").append("Still here").finish()
    chat.wait_answer("Still here")
    assert network.sockets == before + 1
    truth.check(["@told c28"])


def test_c31_a_page_comes_back_after_a_close_with_any_code(
    chat: Chat, truth: Truth, network: Network, director: Director
) -> None:
    chat.send("@told c31")
    part = director.part("c31")
    text = ""
    for code in ALL:
        chat.page.evaluate("() => { window.same = true; }")
        before = network.sockets
        text = f"{text} before {code}".strip()
        part.append(f" before {code}")
        chat.wait_answer(text, "streaming")
        network.close_sockets(code)
        text += f" after {code}"
        part.append(f" after {code}")
        chat.wait_answer(text, "streaming")
        assert network.sockets == before + 1, code
        assert chat.page.evaluate("window.same"), code
        chat.reload()  # so that each is the first close, for which there is no long wait
        chat.wait_connected()
    part.finish()
    chat.wait_answer(text)
    truth.check(["@told c31"])


@pytest.mark.parametrize("code", [4401, 4404])
def test_a_code_that_makes_the_page_leave_never_makes_it_go_round_in_a_ring(
    code: int, chat: Chat, truth: Truth, network: Network
) -> None:
    """The code says that the login or the conversation is over; the site itself says it is not."""
    chat.field.press_sequentially("Half a thought")
    address = chat.page.url
    with chat.page.expect_navigation(url=address):  # the log-in sends who is logged in back
        network.close_sockets(code)
    chat.wait_connected()
    expect(chat.field).to_have_value("Half a thought")

    chat.page.evaluate("() => { window.same = true; }")
    before = network.sockets
    network.close_sockets(code)
    expect(chat.connection).to_contain_text(SAID[code])
    chat.connection.get_by_role("button", name=re.compile("Retry")).click()
    chat.wait_connected()
    assert network.sockets == before + 1
    assert chat.page.evaluate("window.same")
    expect(chat.field).to_have_value("Half a thought")
    truth.check([])


@rounds()
def test_closes_at_random_moments_lose_nothing(
    seed: int, chat: Chat, truth: Truth, network: Network, director: Director
) -> None:
    rng = random.Random(seed)  # noqa: S311 - not a secret

    def disturb(_sent: list[str]) -> None:
        if rng.random() < 0.2:
            network.cut()
        else:
            network.close_sockets(rng.choice(ALL))

    truth.check(converse(chat, director, f"closes {seed}", rng, disturb))
