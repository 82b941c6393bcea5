"""The header says how the connection stands, when the next try is, and offers one now."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import PATIENCE_MS, Chat
from tests.browser.conftest import Person, new_people
from tests.processes import Agent, Site

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = pytest.mark.browser

COUNTDOWN = re.compile(r"Reconnecting in \d+ s")


@pytest.fixture(scope="module")
def far_agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent-server that these tests may stop."""
    agent = Agent(tmp_path_factory.mktemp("far-agent"))
    yield agent.start()
    agent.stop()


@pytest.fixture(scope="module")
def own_site(
    tmp_path_factory: pytest.TempPathFactory, static_root: Path, far_agent: Agent
) -> Iterator[Site]:
    """A site that these tests may stop."""
    data = tmp_path_factory.mktemp("own-site") / "data"
    site = Site(data, static_root, TYPEAGENT_SERVER_URL=far_agent.url)
    yield site.start()
    site.close()


@pytest.fixture(scope="module")
def people(own_site: Site) -> list[Person]:
    """New users of that site."""
    return new_people(own_site, 4)


@pytest.fixture
def chat(
    people: list[Person], open_chat: Callable[..., Chat], far_agent: Agent, own_site: Site
) -> Chat:
    """An open, connected chat at that site, whatever a failed test has left."""
    for runs in (far_agent, own_site):
        if runs.command is None or runs.command.process.poll() is not None:
            runs.start()
    chat = open_chat(people.pop())
    chat.wait_connected()
    return chat


def status(chat: Chat) -> Locator:
    return chat.connection.locator(".status")


def wait_for(chat: Chat, state: str, words: str | re.Pattern[str]) -> None:
    """Until the header is in a state and says these words."""
    expect(chat.connection).to_have_attribute("data-state", state, timeout=PATIENCE_MS)
    expect(status(chat)).to_contain_text(words, timeout=PATIENCE_MS)


@contextmanager
def refusing(url: str, status_code: int) -> Iterator[None]:
    """At the agent-server's address, somebody who lets nobody in."""

    class Refuse(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(status_code)
            self.send_header("Content-Length", "0")
            self.send_header("Connection", "close")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", int(url.rpartition(":")[2].strip("/"))), Refuse)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_it_says_connecting_until_it_is_connected(
    people: list[Person], open_chat: Callable[..., Chat]
) -> None:
    person = people.pop()
    chat = open_chat(person)
    expect(status(chat)).to_have_text(re.compile("Connecting…|Connected"))
    wait_for(chat, "connected", "Connected")
    expect(chat.connection.locator("button")).to_have_count(0)


def test_it_counts_down_to_the_next_try_while_the_agent_server_is_away(
    chat: Chat, far_agent: Agent
) -> None:
    far_agent.stop()
    wait_for(chat, "reconnecting", COUNTDOWN)
    expect(status(chat)).to_contain_text("agent-server", ignore_case=True)
    seen = {status(chat).inner_text()}
    chat.until(
        lambda: len(seen) > 2 or seen.add(status(chat).inner_text()),  # type: ignore[func-returns-value]
        "the seconds are counted down",
    )
    again = chat.connection.get_by_role("button", name=re.compile("Retry"))
    assert again.inner_text() in ("Retry", "Retry now")
    again.click()
    expect(again).to_be_visible()
    chat.field.fill("@display kept for later")
    chat.page.locator("#composer button[type=submit]").click()
    expect(chat.field).to_have_value("")  # the site takes it and sends it later

    far_agent.start()
    wait_for(chat, "connected", "Connected")
    chat.wait_answer("kept for later")


def test_a_refused_token_is_said_and_tried_again_only_when_asked(
    chat: Chat, far_agent: Agent
) -> None:
    far_agent.stop()
    with refusing(far_agent.url, 401):
        wait_for(chat, "error", "Tunnel auth failed. Check token.")
        expect(status(chat)).not_to_contain_text(COUNTDOWN)
        assert far_agent.url.rpartition(":")[2] not in chat.page.content()
        chat.reload()
        wait_for(chat, "error", "Tunnel auth failed. Check token.")
    far_agent.start()
    retry = chat.connection.get_by_role("button", name=re.compile("Retry"))
    retry.click()
    wait_for(chat, "connected", "Connected")


def test_it_counts_down_while_the_site_itself_is_away(chat: Chat, own_site: Site) -> None:
    chat.page.evaluate("() => { window.same = true; }")
    own_site.stop()
    wait_for(chat, "reconnecting", "No connection to the site.")
    wait_for(chat, "reconnecting", COUNTDOWN)
    assert chat.connection.locator("button").inner_text() in ("Retry", "Retry now")
    expect(chat.page.locator("#link-announce")).to_have_text("No connection to the site.")
    chat.press_send("@display written meanwhile")
    expect(chat.error).to_contain_text("No connection")
    expect(chat.field).to_have_value("@display written meanwhile")

    own_site.start()
    # It may have come back by itself already.
    chat.connection.locator("button").evaluate_all("all => all.forEach(one => one.click())")
    wait_for(chat, "connected", "Connected")
    expect(chat.page.locator("#link-announce")).to_have_text("Connected to the site again.")
    chat.page.locator("#composer button[type=submit]").click()
    chat.wait_answer("written meanwhile")
    assert chat.page.evaluate("window.same")  # it is the page that was there before
