"""A tab of the browser that Playwright does not hold awake: it can be hidden and frozen."""

from __future__ import annotations

import itertools
import json
import time
from typing import TYPE_CHECKING, Any

from tests.browser.chat import READ_BUBBLES, Seen
from tests.processes import PATIENCE_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LOOK_EVERY_S = 0.05
BUBBLES = f"({READ_BUBBLES})([...document.querySelectorAll('#transcript > [data-message]')])"
NO_CONTEXT = "Cannot find default execution context"


class NoPageYet(Exception):  # noqa: N818 - it passes
    """The tab is just loading: nothing can be asked of it."""


class Tab:
    """Opens an address in a browser context of its own."""

    def __init__(self, browser: Browser, url: str, cookie: tuple[str, str]) -> None:
        self._session = browser.new_browser_cdp_session()
        self._ids = itertools.count(1)
        self._answers: dict[int, dict[str, Any]] = {}
        self._session.on("Target.receivedMessageFromTarget", self._received)
        self._context = self._session.send("Target.createBrowserContext")["browserContextId"]
        about = {"name": cookie[0], "value": cookie[1], "url": url}
        self._session.send(
            "Storage.setCookies", {"cookies": [about], "browserContextId": self._context}
        )
        self._target = self._create(url, new_window=True)
        attached = self._session.send("Target.attachToTarget", {"targetId": self._target})
        self._name = attached["sessionId"]

    def close(self) -> None:
        """Close the tab and forget its cookies."""
        self._session.send("Target.disposeBrowserContext", {"browserContextId": self._context})
        self._session.detach()

    def hide(self) -> None:
        """Another tab is in front."""
        self._create("about:blank")
        self.until("document.hidden")

    def show(self) -> None:
        """This tab is in front."""
        self._session.send("Target.activateTarget", {"targetId": self._target})
        self.until("!document.hidden")

    def freeze(self) -> None:
        """Nothing in the page runs any more."""
        self._call("Page.setWebLifecycleState", {"state": "frozen"})

    def thaw(self) -> None:
        """It goes on."""
        self._call("Page.setWebLifecycleState", {"state": "active"})

    def evaluate(self, script: str) -> Any:
        """The value of an expression."""
        answer = self._call("Runtime.evaluate", {"expression": script, "returnByValue": True})
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def bubbles(self) -> list[Seen]:
        """All bubbles in the order in which they stand."""
        return [Seen(**each) for each in self.evaluate(BUBBLES)]

    def until(self, script: str) -> None:
        """Until an expression is true; a tab that is just loading has no answer yet."""
        end = time.monotonic() + PATIENCE_S
        while not self._holds(script):
            assert time.monotonic() < end, script
            time.sleep(LOOK_EVERY_S)

    def _holds(self, script: str) -> bool:
        try:
            return bool(self.evaluate(script))
        except NoPageYet:
            return False

    def _create(self, url: str, *, new_window: bool = False) -> str:
        about = {"url": url, "browserContextId": self._context, "newWindow": new_window}
        return str(self._session.send("Target.createTarget", about)["targetId"])

    def _call(self, method: str, about: dict[str, Any]) -> dict[str, Any]:
        number = next(self._ids)
        message = json.dumps({"id": number, "method": method, "params": about})
        self._session.send(
            "Target.sendMessageToTarget", {"sessionId": self._name, "message": message}
        )
        end = time.monotonic() + PATIENCE_S
        while number not in self._answers:
            assert time.monotonic() < end, method
            self._session.send("Browser.getVersion")  # Playwright hears only while it asks
        answer = self._answers.pop(number)
        if NO_CONTEXT in answer.get("error", {}).get("message", ""):
            raise NoPageYet
        assert "error" not in answer, answer
        return dict(answer["result"])

    def _received(self, event: dict[str, Any]) -> None:
        message = json.loads(event["message"])
        if "id" in message:
            self._answers[message["id"]] = message
