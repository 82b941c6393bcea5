"""A page that cannot connect tries ever more rarely, at moments of its own, and for ever."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Route

pytestmark = pytest.mark.browser

NOBODY_THERE = """
window.tries = [];
window.WebSocket = class extends EventTarget {
  static CONNECTING = 0; static OPEN = 1; static CLOSING = 2; static CLOSED = 3;
  readyState = 0;
  constructor() {
    super();
    window.tries.push(Date.now());
    setTimeout(() => {
      this.readyState = 3;
      const event = new CloseEvent("close", {code: %s});
      Object.defineProperty(event, "target", {value: this});
      this.onclose(event);
      this.dispatchEvent(event);
    }, 0);
  }
  close() {}
};
"""
"""A network on which every WebSocket fails at once."""

FIRST_MS = 500
MAX_MS = 15_000
LONG_MS = 600_000
STEP_MS = 2_500
MINUTE_MS = 60_000
PAGES = 8

type OpenChat = Callable[..., Chat]


def fail_with(code: int) -> Callable[[Page], None]:
    """Prepares a page whose clock a test can turn."""

    def prepare(page: Page) -> None:
        page.clock.install()
        page.add_init_script(NOBODY_THERE % code)

    return prepare


def waits_of(chat: Chat, for_ms: int) -> list[int]:
    """How long the page waits before each try, in milliseconds, for so long."""
    for _ in range(for_ms // STEP_MS):
        chat.page.clock.run_for(STEP_MS)
    moments: list[int] = chat.page.evaluate("window.tries")
    return [after - before for before, after in pairwise(moments)]


@pytest.mark.parametrize("code", [1000, 1006, 1011, 1013])
def test_c35_it_waits_twice_as_long_each_time_up_to_a_limit_and_never_gives_up(
    code: int, person: Person, open_chat: OpenChat
) -> None:
    chat = open_chat(person, prepare=fail_with(code))
    waits = waits_of(chat, LONG_MS)
    for number, wait in enumerate(waits):
        most = min(MAX_MS, FIRST_MS * 2**number)
        assert most / 2 <= wait <= most + 20, (number, wait)
    assert sum(waits) > LONG_MS - 2 * MAX_MS
    expect(chat.connection).to_contain_text("No connection to the site.")
    assert len(set(waits[6:])) > len(waits[6:]) / 2


def test_c35_a_page_that_is_told_to_log_in_and_cannot_waits_long_from_the_start(
    person: Person, open_chat: OpenChat
) -> None:
    asked: list[str] = []

    def nothing_there(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=204)

    def prepare(page: Page) -> None:
        fail_with(4401)(page)
        page.route("**/accounts/login/**", nothing_there)

    chat = open_chat(person, prepare=prepare)
    waits = waits_of(chat, 4 * MINUTE_MS)
    assert min(waits) >= MAX_MS / 2
    assert 3 <= len(asked) <= 9  # at most twice a minute
    expect(chat.connection).to_contain_text("You are logged out.")


def test_c35_pages_that_lost_the_site_together_do_not_come_back_together(
    person: Person, make_context: Callable[..., BrowserContext], open_chat: OpenChat
) -> None:
    browser = make_context(person)
    pages = [open_chat(person, in_=browser, prepare=fail_with(1001)) for _ in range(PAGES)]
    waits = [waits_of(chat, STEP_MS) for chat in pages]
    for number in (0, 1):
        moments = {sum(each[: number + 1]) for each in waits}
        assert len(moments) > PAGES / 2
        assert max(moments) - min(moments) > FIRST_MS / 20
