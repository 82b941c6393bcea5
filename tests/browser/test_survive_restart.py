"""What the server itself does to open pages: it ends their sockets after a time, and restarts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import SESSION_COOKIE, new_people
from tests.browser.converse import converse
from tests.browser.director import Director
from tests.browser.network import Network
from tests.browser.truth import Truth
from tests.processes import Agent, Site
from tests.survival.cluster import Cluster, MakeCluster
from tests.survival.person import newcomer
from tests.survival.rounds import rounds

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import BrowserContext

pytestmark = pytest.mark.browser

SOCKET_LIFE_S = 5

type MakeSite = Callable[..., Site]
type OpenChat = Callable[..., Chat]


@pytest.fixture(scope="module")
def short_lived(make_cluster: MakeCluster, director: Director) -> Cluster:
    """A site whose daphne closes every WebSocket that is so old."""
    options = ("--websocket_timeout", str(SOCKET_LIFE_S))
    return make_cluster(director.url, count=1, daphne=options, DATABASE_URL="", REDIS_URL="")


def test_c38_a_socket_that_daphne_closes_for_its_age_is_an_ordinary_reconnect(
    short_lived: Cluster, make_context: Callable[..., BrowserContext], director: Director
) -> None:
    person = newcomer(short_lived)
    browser = make_context()
    cookie = {"name": SESSION_COOKIE, "value": person.session, "url": short_lived.url}
    browser.add_cookies([cookie])  # type: ignore[list-item]
    with Network(short_lived.url) as network:
        chat = Chat(browser.new_page())
        chat.page.goto(network.url)
        chat.wait_connected()
        chat.page.evaluate("() => { window.same = true; }")
        chat.send("@told c38")
        part = director.part("c38").append("w0 ")
        pieces = 1
        while network.sockets < 3:
            part.append(f"w{pieces} ")
            pieces += 1
            chat.page.wait_for_timeout(500)
            expect(chat.connection).not_to_contain_text("No connection")
        part.finish()
        chat.wait_answer(" ".join(f"w{number}" for number in range(pieces)))
        chat.wait_connected()
        assert not part.cancelled
        assert chat.page.evaluate("window.same")
        truth = Truth(chat, short_lived.url, short_lived.sqlite_file, director.data)
        truth.check(["@told c38"])


@pytest.fixture(scope="module")
def mortal_agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    agent = Agent(tmp_path_factory.mktemp("mortal"), "--drain", "1", "--grace", "1")
    yield agent.start()
    agent.kill()


@pytest.fixture(scope="module")
def mortal_site(
    tmp_path_factory: pytest.TempPathFactory, static_root: Path, mortal_agent: Agent
) -> Iterator[Site]:
    data = tmp_path_factory.mktemp("mortal-site") / "data"
    site = Site(data, static_root, TYPEAGENT_SERVER_URL=mortal_agent.url)
    yield site.start()
    site.close()


def test_c11_what_a_restart_cut_off_does_not_read_as_if_the_user_had_stopped_it(
    mortal_site: Site, mortal_agent: Agent, open_chat: OpenChat
) -> None:
    chat = open_chat(*new_people(mortal_site))
    chat.send("@demo stream 4000 60 600")
    expect(chat.answer_text).to_contain_text("Part 1")
    chat.stop_button.click()
    stopped = chat.wait_ended()
    assert (stopped.state, stopped.note) == ("cancelled", "Stopped")

    chat.send("@demo stream 8000 240 2400")
    expect(chat.answers).to_have_count(2)
    expect(chat.answer_text).to_contain_text("Part 1")
    mortal_site.restart()  # by SIGTERM: the reply goes on
    chat.wait_connected()
    chat.wait_state(chat.answer, "streaming")
    mortal_site.kill()
    mortal_agent.kill()
    mortal_agent.start()
    mortal_site.start()
    broken = chat.wait_ended(2)
    assert broken.state == "interrupted"
    assert "Interrupted" in broken.note
    assert "Stopped" not in broken.note
    assert "Part 1" in broken.text


@rounds()
def test_restarts_of_the_site_at_random_moments_lose_nothing_in_an_open_page(
    seed: int, make_site: MakeSite, open_chat: OpenChat, director: Director
) -> None:
    rng = random.Random(seed)  # noqa: S311 - not a secret
    site = make_site(TYPEAGENT_SERVER_URL=director.url)
    chat = open_chat(*new_people(site))
    chat.wait_connected()
    chat.page.evaluate("() => { window.same = true; }")
    left = 2

    def disturb(_sent: list[str]) -> None:
        nonlocal left
        if left:
            left -= 1
            (site.stop if rng.random() < 0.5 else site.kill)()
            site.start()

    truth = Truth(chat, site.url, site.database, director.data)
    truth.check(converse(chat, director, f"restarts {seed}", rng, disturb))
    assert chat.page.evaluate("window.same")
    assert set(truth.states()) == {"final"}
