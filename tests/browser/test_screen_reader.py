"""A screen reader is told that a reply is coming, then the reply once; and nothing need move."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.director import Director

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

CHUNKS = 200
NOTE_SPEECH = """
() => {
  window.spoken = [];
  window.liveChanges = 0;
  const live = "[aria-live]:not([aria-live=off]), [role=status], [role=alert]";
  for (const region of document.querySelectorAll(live)) {
    new MutationObserver(changes => {
      window.liveChanges += changes.length;
      const text = region.textContent.trim();
      if (text) window.spoken.push(text);
    }).observe(region, {childList: true, characterData: true, subtree: true});
  }
}
"""


def test_c89_a_reply_is_announced_and_then_spoken_once(chat: Chat, director: Director) -> None:
    log = chat.page.locator("#transcript")
    expect(log).to_have_attribute("role", "log")
    expect(log).to_have_attribute("aria-live", "off")
    chat.page.evaluate(NOTE_SPEECH)
    chat.send("@told c89")
    part = director.part("c89")
    words = [f"word{number} " for number in range(CHUNKS)]
    for number, word in enumerate(words):
        part.append(word)
        if number % 20 == 0:
            expect(chat.answer_text).to_contain_text(word.strip())
            expect(chat.answer_text).to_have_attribute("aria-busy", "true")
    part.finish()
    chat.wait_ended()
    whole = "".join(words).strip()
    expect(chat.page.locator("#announce")).to_have_text(whole)
    assert chat.page.evaluate("window.spoken") == ["Replying…", whole]
    assert chat.page.evaluate("window.liveChanges") <= 8
    assert chat.answer_text.get_attribute("aria-busy") is None

    chat.page.evaluate("() => { window.spoken = []; }")
    chat.send("@told c89 again")
    director.part("c89 again").append("**Strong** `code`").finish()
    chat.wait_ended(2)
    expect(chat.page.locator("#announce")).to_have_text("Strong code")
    assert chat.page.evaluate("window.spoken") == ["Replying…", "Strong code"]


def test_c89_a_loaded_page_speaks_nothing_of_what_was_said(chat: Chat, director: Director) -> None:
    chat.send("@told c89 old")
    director.part("c89 old").append("Said before").finish()
    chat.wait_ended()
    chat.reload()
    chat.wait_connected()
    expect(chat.page.locator("#announce")).to_be_empty()
    chat.page.evaluate(NOTE_SPEECH)
    assert chat.page.evaluate("window.spoken") == []


def test_everything_has_a_name(chat: Chat, director: Director) -> None:
    chat.send("@told names")
    part = director.part("names").append("```\ncode\n```")
    expect(chat.stop_button).to_be_visible()
    for role, name in (
        ("region", "Messages"),
        ("log", "Conversation"),
        ("textbox", "Message"),
        ("button", "Send"),
        ("button", "Stop"),
        ("button", "Copy"),
        ("heading", "Chat"),
    ):
        expect(chat.page.get_by_role(role, name=name, exact=True).first).to_be_visible()  # type: ignore[arg-type]
    unnamed = chat.page.locator("button, a[href], summary, textarea").evaluate_all(
        "all => all.filter(one => !(one.ariaLabel || one.textContent.trim() || one.labels?.length))"
        ".map(one => one.outerHTML)"
    )
    assert unnamed == []
    assert chat.page.locator("html").get_attribute("lang") == "en"
    part.finish()


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_nothing_moves_for_who_asks_for_less_motion(
    motion: Literal["no-preference", "reduce"],
    person: Person,
    open_chat: Callable[..., Chat],
    director: Director,
) -> None:
    def prepare(page: Page) -> None:
        page.emulate_media(reduced_motion=motion)

    chat = open_chat(person, prepare=prepare)
    chat.wait_connected()
    chat.send(f"@told motion {motion}")
    expect(chat.page.locator(".dots").first).to_be_visible()
    part = director.part(f"motion {motion}")
    moving = chat.page.evaluate("document.getAnimations().length")
    part.append("Words")
    expect(chat.answer_text).to_contain_text("Words")
    moving += chat.page.evaluate("document.getAnimations().length")
    assert (moving == 0) == (motion == "reduce")
    smooth = chat.page.locator("#scroller").evaluate("e => getComputedStyle(e).scrollBehavior")
    assert smooth == "auto"
    part.finish()
