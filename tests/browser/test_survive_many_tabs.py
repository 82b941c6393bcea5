"""Fifty open pages of one conversation, at two processes: all show the same, and the agent-server
sees one client.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.chat import Chat
from tests.browser.conftest import SESSION_COOKIE
from tests.browser.converse import press_again
from tests.browser.crowd import Crowd
from tests.browser.truth import Truth, differing
from tests.processes import Agent
from tests.survival.cluster import Cluster, MakeCluster
from tests.survival.person import newcomer
from tests.survival.rounds import rounds
from tests.survival.rows import Rows

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

pytestmark = pytest.mark.browser

TABS = 5
READERS = 45
MESSAGES = 4


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    agent = Agent(tmp_path_factory.mktemp("agent"), "--show-joins", "--word-delay", "0.02")
    yield agent.start()
    agent.kill()


@pytest.fixture(scope="module")
def cluster(make_cluster: MakeCluster, upstream: Agent) -> Cluster:
    return make_cluster(upstream.url)


def all_differing(crowd: Crowd, truth: Truth) -> str:
    """Of the pages that do not show what is stored."""
    stored = truth.stored()
    return "\n".join(filter(None, (differing(lines, stored) for lines in crowd.lines())))


@rounds()
def test_fifty_tabs_of_one_conversation_end_equal(
    seed: int, cluster: Cluster, upstream: Agent, make_context: Callable[..., BrowserContext]
) -> None:
    rng = random.Random(seed)  # noqa: S311 - not a secret
    person = newcomer(cluster)
    person.rng = rng
    browser = make_context()
    browser.add_cookies([{"name": SESSION_COOKIE, "value": person.session, "url": cluster.url}])
    tabs = []
    for number in range(TABS):
        tab = Chat(browser.new_page())
        web = cluster.webs[number % len(cluster.webs)]
        tab.page.goto(f"{web.url}/c/{person.key}/")
        tab.wait_connected()
        tabs.append(tab)
    truth = Truth(tabs[0], cluster.url, cluster.database_url, upstream.data)

    with Crowd(person, READERS) as crowd:
        sent = [
            f"number {n} " + " ".join(f"w{rng.randrange(100)}" for _ in range(20))
            for n in range(MESSAGES)
        ]
        for number, text in enumerate(sent):
            tab = rng.choice(tabs)
            tab.press_send(text)
            press_again(tab)
            if not number:
                tab.until(lambda: crowd.there == READERS, "everybody is there")
            tab.page.wait_for_timeout(rng.random() * 500)
        truth.check(sent, *tabs[1:])
        with contextlib.suppress(AssertionError):
            tabs[0].until(
                lambda: not all_differing(crowd, truth), "every page shows what is stored"
            )
        assert not (difference := all_differing(crowd, truth)), difference
    joined = [line.split() for line in upstream.lines if line.startswith("joined: ")]
    mine = Rows(cluster.database_url).upstream_id(person.key)
    assert max(int(clients) for _, name, clients in joined if name == mine) == 1
