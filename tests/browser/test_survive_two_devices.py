"""Two devices of one person send at the same time: all of it arrives, once, in one order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.converse import press_again
from tests.browser.director import Director
from tests.browser.network import Network
from tests.browser.truth import Truth
from tests.processes import Site
from tests.survival.rounds import rounds

pytestmark = pytest.mark.browser

EACH = 10
CLOSE_SHARE = 0.15

type OpenChat = Callable[..., Chat]


@pytest.fixture(scope="module")
def network(chat_site: Site) -> Iterator[Network]:
    with Network(chat_site.url) as network:
        yield network


@rounds()
def test_two_devices_that_send_at_once_end_equal(
    seed: int,
    person: Person,
    network: Network,
    open_chat: OpenChat,
    chat_site: Site,
    director: Director,
) -> None:
    rng = random.Random(seed)  # noqa: S311 - not a secret
    devices = {"phone": open_chat(person, network.url), "desk": open_chat(person)}
    for chat in devices.values():
        chat.wait_connected()
    for number in range(EACH):
        for name in rng.sample(sorted(devices), 2):
            devices[name].press_send(f"@display {name} {number}")
        if rng.random() < CLOSE_SHARE:
            network.close_sockets(1001)
        for chat in devices.values():
            press_again(chat)

    truth = Truth(devices["phone"], chat_site.url, chat_site.database, director.data)
    truth.settle(2 * EACH)
    sent = truth.questions()
    for name in devices:
        own = [text for text in sent if text.startswith(f"@display {name} ")]
        assert own == [f"@display {name} {number}" for number in range(EACH)]
    truth.check(sent, devices["desk"])
    assert set(truth.states()) == {"final"}
    answers = [text for role, text in devices["desk"].says() if role == "agent"]
    assert answers == [text.removeprefix("@display ") for text in sent]
    for chat in devices.values():
        expect(chat.error).to_be_empty()
