"""A page that slept - frozen, kept for the Back button, on a network that died meanwhile - finds
out when it wakes, and has everything without a reload.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import PATIENCE_MS, Chat
from tests.browser.conftest import PHONE, SESSION_COOKIE, Person
from tests.browser.converse import converse
from tests.browser.director import Director
from tests.browser.network import Network
from tests.browser.tab import Tab
from tests.browser.truth import Truth
from tests.conftest import CHROMIUM_ARGUMENTS
from tests.processes import Site
from tests.survival.rounds import rounds

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserType, Page

pytestmark = pytest.mark.browser

CONNECTED = "(document.querySelector('#connection') || {dataset: {}}).dataset.state == 'connected'"
WAKING = {
    "visibilitychange": "document.dispatchEvent(new Event('visibilitychange'))",
    "online": "window.dispatchEvent(new Event('online'))",
    "offline": "window.dispatchEvent(new Event('offline'))",
    "pageshow": "window.dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))",
    "resume": "document.dispatchEvent(new Event('resume'))",
}
PING_EVERY_MS = 30_000
LONG_MS = 300_000

type OpenChat = Callable[..., Chat]


@pytest.fixture
def network(chat_site: Site) -> Iterator[Network]:
    with Network(chat_site.url) as network:
        yield network


@pytest.fixture
def chat(person: Person, network: Network, open_chat: OpenChat) -> Chat:
    chat = open_chat(person, network.url)
    chat.wait_connected()
    chat.page.evaluate("() => { window.same = true; }")
    return chat


@pytest.fixture
def truth(chat: Chat, chat_site: Site, director: Director) -> Truth:
    return Truth(chat, chat_site.url, chat_site.database, director.data)


@pytest.fixture
def tab(browser: Browser, person: Person, network: Network) -> Iterator[Tab]:
    """The same person's, with its own way to the site."""
    tab = Tab(browser, network.url, (SESSION_COOKIE, person.session))
    tab.until(CONNECTED)
    tab.evaluate("window.same = true")
    yield tab
    tab.close()


@pytest.fixture
def direct(person: Person, open_chat: OpenChat) -> Chat:
    """Another device, on a network without faults."""
    chat = open_chat(person)
    chat.wait_connected()
    return chat


@pytest.mark.parametrize("event", WAKING)
def test_c29_a_dead_socket_that_nobody_closed_is_found_out_on_waking(
    event: str, chat: Chat, truth: Truth, network: Network, director: Director
) -> None:
    name = f"c29 {event}"
    chat.send(f"@told {name}")
    part = director.part(name).append("Before")
    chat.wait_answer("Before", "streaming")
    before = network.sockets
    network.die()
    part.append(" and after").finish()
    assert part.ended.wait(60)
    network.live()
    chat.page.evaluate(WAKING[event])
    chat.wait_answer("Before and after")
    assert network.sockets == before + 1
    truth.check([f"@told {name}"])
    assert chat.page.evaluate("window.same")


def test_c29_a_page_that_is_looked_at_finds_out_by_itself(
    person: Person, network: Network, open_chat: OpenChat, director: Director
) -> None:
    chat = open_chat(person, network.url, prepare=lambda page: page.clock.install())
    chat.wait_connected()
    chat.send("@told c29 looking")
    part = director.part("c29 looking").append("Before")
    chat.wait_answer("Before", "streaming")
    network.die()
    part.append(" and after").finish()
    network.live()
    chat.page.clock.fast_forward(PING_EVERY_MS)
    chat.wait_answer("Before and after")


def test_a_page_suspended_for_minutes_comes_back(
    person: Person, network: Network, open_chat: OpenChat, chat_site: Site, director: Director
) -> None:
    chat = open_chat(person, network.url, prepare=lambda page: page.clock.install())
    truth = Truth(chat, chat_site.url, chat_site.database, director.data)
    chat.wait_connected()
    chat.send("@told minutes")
    part = director.part("minutes").append("Before")
    chat.wait_answer("Before", "streaming")
    network.die()
    part.append(" and after").finish()
    chat.page.clock.pause_at(time.time() + LONG_MS / 1000)
    network.live()
    chat.page.clock.resume()
    chat.page.evaluate(WAKING["visibilitychange"])
    chat.wait_answer("Before and after")
    truth.check(["@told minutes"])


def test_c10_a_page_that_was_frozen_in_an_answer_has_it_when_it_thaws(
    tab: Tab, direct: Chat, chat_site: Site, director: Director
) -> None:
    truth = Truth(direct, chat_site.url, chat_site.database, director.data)
    direct.send("@told frozen")
    part = director.part("frozen").append("Before")
    direct.wait_answer("Before", "streaming")
    tab.hide()
    tab.freeze()
    part.append(" and after").finish()
    direct.wait_answer("Before and after")
    assert "after" not in tab.evaluate("document.getElementById('transcript').innerText")
    tab.thaw()
    tab.show()
    truth.check(["@told frozen"], tab)
    assert tab.evaluate("window.same")


@rounds()
def test_a_page_that_is_frozen_and_thawed_at_random_moments_has_everything(
    seed: int, tab: Tab, direct: Chat, network: Network, chat_site: Site, director: Director
) -> None:
    """Meanwhile its network may die, or its socket be closed."""
    rng = random.Random(seed)  # noqa: S311 - not a secret
    truth = Truth(direct, chat_site.url, chat_site.database, director.data)
    frozen = False

    def disturb(_sent: list[str]) -> None:
        nonlocal frozen
        if frozen:
            tab.thaw()
            tab.show()
        else:
            tab.hide()
            tab.freeze()
            happen = rng.choice(["nothing", "death", "close", "cut"])
            if happen == "death":
                network.die()
                network.live()
            elif happen == "close":
                network.close_sockets(1001)
            elif happen == "cut":
                network.cut()
        frozen = not frozen

    sent = converse(direct, director, f"freezes {seed}", rng, disturb)
    if frozen:
        disturb(sent)
    truth.check(sent, tab)
    assert tab.evaluate("window.same")


@pytest.fixture
def keeping(browser: Browser, chromium_path: str) -> Iterator[Browser]:
    """A browser that keeps pages for the Back button, as people's do and Playwright's does not."""
    launcher: BrowserType = browser.browser_type
    kept = launcher.launch(
        executable_path=chromium_path,
        args=CHROMIUM_ARGUMENTS,
        headless=True,
        ignore_default_args=["--disable-back-forward-cache"],
    )
    yield kept
    kept.close()


@pytest.mark.parametrize("kept", [True, False])
def test_going_back_to_a_chat_shows_what_came_meanwhile(
    kept: bool,
    keeping: Browser,
    network: Network,
    person: Person,
    chat_site: Site,
    director: Director,
) -> None:
    """Chromium keeps no page that is `no-store` and has a WebSocket; others may keep it."""
    network.keepable = kept
    context = keeping.new_context(**PHONE)
    context.set_default_timeout(PATIENCE_MS)
    context.add_cookies([{"name": SESSION_COOKIE, "value": person.session, "url": network.url}])
    page: Page = context.new_page()
    page.goto(network.url)
    chat = Chat(page)
    chat.wait_connected()
    page.evaluate("() => { window.same = true; }")
    name = f"back {kept}"
    chat.send(f"@told {name}")
    part = director.part(name).append("Before")
    chat.wait_answer("Before", "streaming")
    chat.field.press_sequentially("Half a thought")
    page.goto(network.url + "/no/such/page/")
    part.append(" and after").finish()
    assert part.ended.wait(60)
    page.go_back(wait_until="commit")
    chat.wait_answer("Before and after")
    chat.wait_connected()
    assert bool(page.evaluate("window.same")) is kept
    expect(chat.field).to_have_value("Half a thought")
    Truth(chat, chat_site.url, chat_site.database, director.data).check([f"@told {name}"])
