"""How much longer a formatted answer takes to be complete than bare text: a ratio of one run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import TYPE_CHECKING

import pytest

from tests.processes import ROOT, Agent, Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.benchmark, pytest.mark.browser]

ASK = "@demo stream 8000 4 400"
ROUNDS = 3
SLOWER = 4  # times, the browser's processor
BUDGET = 1.15

OURS = """(text) => {
  const field = document.querySelector("#composer textarea");
  const before = document.querySelectorAll('[data-role="agent"][data-state="final"]').length;
  window.took = 0;
  const began = performance.now();
  new MutationObserver((_, watcher) => {
    const done = document.querySelectorAll('[data-role="agent"][data-state="final"]').length;
    if (done > before) { window.took = performance.now() - began; watcher.disconnect(); }
  }).observe(document.getElementById("transcript"), {
    subtree: true, childList: true, attributes: true
  });
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  document.getElementById("composer").requestSubmit();
}"""

BARE = """(text) => {
  window.took = 0;
  const began = performance.now();
  document.body.dataset.state = "asked";
  new MutationObserver((_, watcher) => {
    if (document.body.dataset.state === "final") {
      window.took = performance.now() - began; watcher.disconnect();
    }
  }).observe(document.body, { attributes: true });
  window.ask(text);
}"""


@pytest.fixture
def relay(agent: Agent) -> Iterator[str]:
    """The address of the bare relay's page."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.relay", agent.url],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait()
    process.stdout.close()


def slowed(browser: Browser) -> Page:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    return page


def seconds(page: Page, ask: str) -> float:
    """From pressing Send to the finished answer, by the page's own clock."""
    page.evaluate(ask, ASK)
    while not (took := page.evaluate("window.took")):
        time.sleep(0.1)
    return float(took) / 1000


def test_a_streamed_answer_is_complete_nearly_as_soon_as_bare_text(
    browser: Browser, make_site: Callable[..., Site], agent: Agent, relay: str
) -> None:
    site = make_site(TYPEAGENT_SERVER_URL=agent.url)
    ours, bare = slowed(browser), slowed(browser)
    ours.goto(site.login_url)
    ours.locator("#connection[data-state=connected]").wait_for(state="attached")
    bare.goto(relay)
    bare.locator("body[data-state=ready]").wait_for(state="attached")
    times = [(seconds(ours, OURS), seconds(bare, BARE)) for _ in range(ROUNDS)]
    shown = median(one for one, _ in times)
    least = median(other for _, other in times)
    print(  # noqa: T201 - a benchmark is read by people
        f"\n8,000 characters in 400 chunks over 4 s, browser slowed {SLOWER} times:"
        f" {shown:.2f} s, bare relay {least:.2f} s, {shown / least:.2f} times"
    )
    assert shown <= BUDGET * least
