"""A page of the site as a test sees and handles it: its bubbles, its composer, its state."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from tests.processes import PATIENCE_S

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, WebSocketRoute

PATIENCE_MS = PATIENCE_S * 1000
expect.set_options(timeout=PATIENCE_MS)
ANSWER = '[data-role="agent"]'
ENDED = re.compile("final|cancelled|interrupted|failed")

VISIBLE_TEXT = """
function visibleText(body) {
  return body.innerText.replace(/\\s+/g, " ").trim();
}
"""
"""What a reader sees of a body, whatever the spaces."""

READ_BUBBLES = (
    "messages => {"
    + VISIBLE_TEXT
    + """
  return messages.map(m => ({
    uid: m.dataset.message, role: m.dataset.role, state: m.dataset.state,
    request: m.dataset.request, order: m.dataset.order,
    text: visibleText(m.querySelector("[data-body]")),
    note: (m.querySelector(".note") || {innerText: ""}).innerText,
  }));
}"""
)


@dataclass(frozen=True, slots=True)
class Seen:
    """One bubble as it is on the screen."""

    uid: str
    role: str
    state: str
    request: str
    order: str
    text: str
    note: str

    @property
    def says(self) -> tuple[str, str]:
        """Who says what."""
        return self.role, self.text


class Chat:
    """One open page of one conversation."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.transcript = page.locator("#transcript")
        self.messages = page.locator("#transcript > [data-message]")
        self.answers = page.locator(f"#transcript > {ANSWER}")
        self.field = page.locator("#composer textarea[name=text]")
        self.stop_button = page.locator("[data-stop]")
        self.running = page.locator("#running")
        self.connection = page.locator("#connection")
        self.error = page.locator("#composer-error")

    @property
    def answer(self) -> Locator:
        """The newest answer."""
        return self.answers.last

    @property
    def answer_text(self) -> Locator:
        """The body of the newest answer."""
        return self.answer.locator("[data-body]")

    def bubbles(self) -> list[Seen]:
        """All bubbles in the order in which they stand."""
        found: list[dict[str, str]] = self.messages.evaluate_all(READ_BUBBLES)
        return [Seen(**each) for each in found]

    def says(self) -> list[tuple[str, str]]:
        """Who says what, from top to bottom."""
        return [seen.says for seen in self.bubbles()]

    def send(self, text: str) -> None:
        """Type a message and press Send, and wait until the server has it."""
        self.press_send(text)
        expect(self.field).to_have_value("")

    def press_send(self, text: str) -> None:
        """Type a message and press Send."""
        self.field.fill(text)
        self.page.locator("#composer button[type=submit]").click()

    def reload(self) -> None:
        """Load the page anew, as far as its own HTML."""
        self.page.reload(wait_until="domcontentloaded")

    def wait_connected(self) -> None:
        """Until the page hears the site, and the site the agent-server."""
        expect(self.connection).to_have_attribute("data-state", "connected")

    def wait_idle(self) -> None:
        """Until nothing runs."""
        expect(self.running).to_have_attribute("data-running", "0")

    def wait_answer(self, text: str | re.Pattern[str], state: str = "final") -> None:
        """Until the newest answer is exactly this and in that state."""
        expect(self.answer_text).to_have_text(text)
        self.wait_state(self.answer, state)

    def wait_state(self, message: Locator, state: str | re.Pattern[str]) -> None:
        """Until a bubble is in a state."""
        expect(message).to_have_attribute("data-state", state)

    def wait_ended(self, count: int = 1) -> Seen:
        """Until there are so many answers and the newest has ended; gives that."""
        expect(self.answers).to_have_count(count)
        self.wait_state(self.answer, ENDED)
        self.wait_idle()
        return next(seen for seen in reversed(self.bubbles()) if seen.role == "agent")

    def wait_says(self, *said: tuple[str, str]) -> None:
        """Until the page says exactly this, from top to bottom.

        A page that was just loaded may lack what the site has not saved yet, for a moment.
        """
        with contextlib.suppress(AssertionError):
            self.until(lambda: self.says() == list(said), "")
        assert self.says() == list(said)

    def until(self, check: Callable[[], Any], what: str) -> None:
        """Until something is so that no locator can tell."""
        end = time.monotonic() + PATIENCE_MS / 1000
        while time.monotonic() < end:
            if check():
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"not within {PATIENCE_MS} ms: {what}")


class SocketTap:
    """Stands between the pages and the site: keeps what is pushed, cuts, repeats, withholds."""

    def __init__(self) -> None:
        self.routes: list[WebSocketRoute] = []
        self.open: list[WebSocketRoute] = []
        self.received: list[str] = []
        self.held: list[tuple[WebSocketRoute, str]] | None = None

    def watch(self, page: Page) -> None:
        """Take over every socket that the page opens from now on."""
        page.route_web_socket(re.compile("/ws/"), self._connect)

    def hold(self) -> None:
        """Keep what the site pushes from the pages."""
        self.held = []

    def release(self) -> None:
        """Hand on what was kept."""
        held, self.held = self.held or [], None
        for route, text in held:
            if route in self.open:
                route.send(text)

    def push(self, text: str) -> None:
        """Have the newest socket say something to its page."""
        self.open[-1].send(text)

    def cut(self, code: int) -> None:
        """Close all sockets towards the pages, with this code."""
        for route in list(self.open):
            self.open.remove(route)
            route.close(code=code)

    def _connect(self, route: WebSocketRoute) -> None:
        server = route.connect_to_server()
        self.routes.append(route)
        self.open.append(route)

        def from_server(text: str | bytes) -> None:
            assert isinstance(text, str)
            self.received.append(text)
            if self.held is not None:
                self.held.append((route, text))
            elif route in self.open:
                route.send(text)

        server.on_message(from_server)
