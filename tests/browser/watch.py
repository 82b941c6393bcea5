"""Notes what no page may be made to do: run a payload, break the CSP, ask anything elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Page, Request

REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", event => {
  window.violated(`${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile || ""}`);
});
"""


class Watch:
    """Give `on` to `open_chat` as `prepare`."""

    def __init__(self) -> None:
        self.dialogs: list[str] = []
        self.violations: list[str] = []
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        """Names and ports that anything was asked of, or was to be."""
        self.requests: list[Request] = []

    def on(self, page: Page) -> None:
        """Watch a page from its first byte."""
        page.expose_binding("violated", lambda _source, text: self.violations.append(text))
        page.add_init_script(REPORT_VIOLATIONS)
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._request)

    def assert_quiet(self, page: Page) -> None:
        """Nothing ran, nothing was blocked at the last moment, and only our own site was asked."""
        page.evaluate("() => 0")  # what the page reported before has come
        assert (self.dialogs, self.violations, self.errors) == ([], [], [])
        assert self.hosts <= {urlsplit(page.url).netloc}

    def _dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        self.requests.append(request)
        if not request.url.startswith(("data:", "blob:")):
            self.hosts.add(urlsplit(request.url).netloc)
