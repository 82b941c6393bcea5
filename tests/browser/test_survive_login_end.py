"""The login ends while a reply is written: the page goes to the log-in, asks for nothing any more,
and after the next log-in everything is there, the draft too.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import SESSION_COOKIE, Person, new_people
from tests.browser.director import Director
from tests.browser.network import Network
from tests.browser.truth import Truth
from tests.processes import Site
from tests.survival.rounds import ALL, USUAL, rounds

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

pytestmark = pytest.mark.browser

LOG_IN = re.compile("/accounts/login/")
DRAFT = "Half a thought"
STORM_MS = 10_000
END = """
from django.contrib.sessions.models import Session
from django.utils import timezone
session = Session.objects.filter(pk={session!r})
session.{how}
"""
ENDS = {
    "deleted": "delete()",
    "expired": "update(expire_date=timezone.now())",
}
ANOTHER = """
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
client = Client()
client.force_login(User.objects.get(username={name!r}))
print("session:" + client.cookies[settings.SESSION_COOKIE_NAME].value)
"""

type OpenChat = Callable[..., Chat]


@pytest.fixture(scope="module")
def watchful_site(
    tmp_path_factory: pytest.TempPathFactory, static_root: Path, director: Director
) -> Iterator[Site]:
    """A site that finds out within a second."""
    data = tmp_path_factory.mktemp("watchful") / "data"
    site = Site(data, static_root, TYPEAGENT_SERVER_URL=director.url, SESSION_CHECK_S="1")
    yield site.start()
    site.close()


@pytest.fixture(scope="module")
def network(watchful_site: Site) -> Iterator[Network]:
    with Network(watchful_site.url) as network:
        yield network


@pytest.fixture(scope="module")
def people() -> list[Person]:
    """Users of that site whom no test has met."""
    return []


@pytest.fixture
def person(watchful_site: Site, people: list[Person]) -> Person:
    if not people:
        people.extend(new_people(watchful_site, 2 * USUAL + ALL + len(ENDS)))
    return people.pop()


@pytest.fixture
def browser_of(
    person: Person, network: Network, make_context: Callable[..., BrowserContext]
) -> BrowserContext:
    return make_context(person)


@pytest.fixture
def chat(person: Person, network: Network, browser_of: BrowserContext, open_chat: OpenChat) -> Chat:
    """With a draft."""
    chat = open_chat(person, network.url, in_=browser_of)
    chat.wait_connected()
    return chat


@pytest.fixture
def truth(chat: Chat, watchful_site: Site, director: Director) -> Truth:
    return Truth(chat, watchful_site.url, watchful_site.database, director.data)


def begin(chat: Chat, director: Director, name: str) -> None:
    """A reply is being written, and so is a draft."""
    chat.send(f"@told {name}")
    director.part(name).append("Before")
    chat.wait_answer("Before", "streaming")
    chat.field.press_sequentially(DRAFT)


def log_in_again(chat: Chat, person: Person) -> None:
    """As the user does it, only quicker."""
    said = person.site.manage("shell", "-c", ANOTHER.format(name=person.name))
    session = said.partition("session:")[2].strip()
    cookie = {"name": SESSION_COOKIE, "value": session, "url": person.site.url}
    chat.page.context.add_cookies([cookie])  # type: ignore[list-item]
    with chat.page.expect_navigation():
        chat.page.reload()  # the log-in sends who is logged in on, to where they were


def finish(chat: Chat, truth: Truth, director: Director, person: Person, name: str) -> None:
    """The reply went on meanwhile, and the draft is where it was."""
    director.part(name).append(" and after").finish()
    log_in_again(chat, person)
    chat.wait_answer("Before and after")
    expect(chat.field).to_have_value(DRAFT)
    truth.check([f"@told {name}"])


def test_a_log_out_in_another_tab_ends_this_one_too(
    chat: Chat,
    truth: Truth,
    person: Person,
    network: Network,
    browser_of: BrowserContext,
    open_chat: OpenChat,
    director: Director,
) -> None:
    begin(chat, director, "other tab")
    other = open_chat(person, network.url, in_=browser_of)
    other.page.get_by_label("Menu").click()
    other.page.get_by_role("button", name="Log out").click()
    chat.page.wait_for_url(LOG_IN)
    finish(chat, truth, director, person, "other tab")


@pytest.mark.parametrize("how", ENDS)
def test_c35_a_session_that_ends_at_the_site_leads_to_the_log_in_and_to_no_storm(
    how: str, chat: Chat, truth: Truth, person: Person, network: Network, director: Director
) -> None:
    name = f"c35 {how}"
    begin(chat, director, name)
    before = network.sockets
    ended = END.format(session=person.session, how=ENDS[how])
    person.site.manage("shell", "-c", ended)
    chat.page.wait_for_url(LOG_IN)
    assert network.sockets == before
    assert chat.page.locator("script").count() == 0  # nothing is left that could connect
    finish(chat, truth, director, person, name)


def test_c35_a_page_that_cannot_get_to_the_log_in_tries_rarely_and_says_why(
    chat: Chat, truth: Truth, person: Person, network: Network, director: Director
) -> None:
    begin(chat, director, "c35 stuck")
    chat.page.route(LOG_IN, lambda route: route.fulfill(status=204))
    before = network.sockets
    chat.page.context.clear_cookies(name=SESSION_COOKIE)
    network.cut()
    expect(chat.connection).to_contain_text("You are logged out.")
    chat.page.wait_for_timeout(STORM_MS)
    assert 1 <= network.sockets - before <= 3
    expect(chat.field).to_have_value(DRAFT)
    chat.page.unroute(LOG_IN)
    chat.page.goto(chat.page.url)
    chat.page.wait_for_url(LOG_IN)
    finish(chat, truth, director, person, "c35 stuck")


@rounds()
def test_a_login_that_ends_at_a_random_moment_ends_nothing_else(
    seed: int, chat: Chat, truth: Truth, person: Person, network: Network, director: Director
) -> None:
    rng = random.Random(seed)  # noqa: S311 - not a secret
    name = f"login ends {seed}"
    before = network.sockets
    begin(chat, director, name)
    chat.page.wait_for_timeout(rng.random() * 1000)
    chat.page.context.clear_cookies(name=SESSION_COOKIE)
    network.close_sockets(rng.choice([1000, 1001, 1011, None]))
    chat.page.wait_for_url(LOG_IN)
    assert network.sockets == before + 1
    finish(chat, truth, director, person, name)
