"""An impatient person on a bad network: slow, lossy, cut now and then; pressed twice, reloaded."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Error, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.converse import converse, press_again
from tests.browser.director import Director
from tests.browser.network import Network, Weather
from tests.browser.truth import Truth
from tests.processes import Site
from tests.survival.rounds import rounds

pytestmark = pytest.mark.browser

THIRD_GENERATION = Weather(latency_s=0.15, loss=0.05)
CUT_SHARE = 0.3
RELOADS = 8

type OpenChat = Callable[..., Chat]


@pytest.fixture
def network(chat_site: Site) -> Iterator[Network]:
    with Network(chat_site.url) as network:
        yield network


@pytest.fixture
def chat(person: Person, network: Network, open_chat: OpenChat) -> Chat:
    network.weather = THIRD_GENERATION
    chat = open_chat(person, network.url)
    chat.wait_connected()
    return chat


@pytest.fixture
def truth(chat: Chat, chat_site: Site, director: Director) -> Truth:
    return Truth(chat, chat_site.url, chat_site.database, director.data)


def tap_twice(chat: Chat) -> None:
    """On Send, as fast as a thumb can."""
    box = chat.page.locator("#composer button[type=submit]").bounding_box()
    assert box is not None
    for _ in range(2):
        chat.page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


@rounds()
def test_double_taps_on_a_slow_network_with_losses_send_each_message_once(
    seed: int, chat: Chat, truth: Truth, network: Network, director: Director
) -> None:
    rng = random.Random(seed)  # noqa: S311 - not a secret

    def disturb(sent: list[str]) -> None:
        text = f"@display tapped {seed} {len(sent)}"
        chat.field.fill(text)
        tap_twice(chat)
        if rng.random() < CUT_SHARE:
            network.cut()
        press_again(chat)
        sent.append(text)

    truth.check(converse(chat, director, f"taps {seed}", rng, disturb))
    expect(chat.error).to_be_empty()


@rounds()
def test_a_storm_of_reloads_in_an_answer_loses_nothing(
    seed: int, chat: Chat, truth: Truth, network: Network, director: Director
) -> None:
    rng = random.Random(seed)  # noqa: S311 - not a secret
    name = f"reloads {seed}"
    chat.send(f"@told {name}")
    part = director.part(name)
    browser = chat.page.context.new_cdp_session(chat.page)
    for number in range(RELOADS):
        part.append(f"w{number} ")
        with contextlib.suppress(Error):  # one may come before the last has a page to reload
            browser.send("Page.reload")  # without waiting for anything
        chat.page.wait_for_timeout(rng.random() * 400)
    part.finish()
    chat.wait_answer(" ".join(f"w{number}" for number in range(RELOADS)))
    truth.check([f"@told {name}"])
