"""A reload in the middle of an answer: at every moment the page shows a prefix of it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from chat.localagent import demo_text
from tests.browser.chat import ANSWER, VISIBLE_TEXT, Chat
from tests.browser.conftest import Person, new_people
from tests.browser.director import Director
from tests.processes import Site

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

pytestmark = pytest.mark.browser

RELOADS = 20
CHARS, CHUNKS = 5_000, 240
STREAM_S = 9
WATCH = (
    VISIBLE_TEXT
    + f"""
new MutationObserver(() => {{
  const bodies = document.querySelectorAll('{ANSWER} [data-body]');
  if (bodies.length) window.seen(Array.from(bodies, visibleText).join(" + "));
}}).observe(document, {{subtree: true, childList: true, characterData: true}});
"""
)
"""Tells of every text that the answer ever has in the page, from the first bytes of each load."""


def watched(context: BrowserContext) -> list[str]:
    """All texts that an answer has in any page of the browser from now on, as they come."""
    seen: list[str] = []
    context.expose_binding("seen", lambda _source, text: seen.append(text))
    context.add_init_script(WATCH)
    return seen


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def whole_sections(chars: int) -> str:
    """The demo's text up to about a length, ended where a section ends."""
    text = demo_text(2 * chars)
    return text[: text.index("## ", chars)]


def without_markup(text: str) -> str:
    """What a reader sees of the demo's markdown, without any spaces."""
    text = re.sub(r"^```\w*$|^\| --- .*$|^(## |- |> )", "", text, flags=re.MULTILINE)
    return squeezed(re.sub(r"\*|`|\|", "", text))


def assert_prefixes(seen: list[str], whole: str) -> None:
    """Each of them is the beginning of the whole."""
    wrong = [text for text in seen if not whole.startswith(text)]
    assert not wrong, f"{len(wrong)} of {len(seen)}, first: {wrong[0][-80:]!r} in {whole!r}"


def test_twenty_reloads_at_random_moments_show_a_prefix_at_every_moment(
    make_site: Callable[..., Site], make_context: Callable[..., BrowserContext]
) -> None:
    seed = random.randrange(10**6)  # noqa: S311
    print(f"seed {seed}")  # noqa: T201 - to run a failure again
    moments = sorted(random.Random(seed).uniform(0, STREAM_S) for _ in range(RELOADS))  # noqa: S311
    site = make_site()
    (person,) = new_people(site)
    context = make_context(person)
    seen = watched(context)
    page = context.new_page()
    page.goto(site.url)
    chat = Chat(page)

    source = whole_sections(CHARS)
    chat.send(f"@demo stream {len(source)} {STREAM_S} {CHUNKS}")
    began = page.evaluate("performance.timeOrigin + performance.now()")
    for moment in moments:
        passed = page.evaluate("performance.timeOrigin + performance.now()") - began
        page.wait_for_timeout(max(0, moment * 1000 - passed))
        chat.reload()
    answer = chat.wait_ended()

    assert answer.state == "final"
    assert squeezed(answer.text) == without_markup(source)
    assert len(set(seen)) > RELOADS
    assert_prefixes(seen, answer.text)
    chat.reload()
    chat.wait_says(
        ("user", f"@demo stream {len(source)} {STREAM_S} {CHUNKS}"),
        ("agent", answer.text),
    )
    assert len(page.locator(".copy").all()) == source.count("```python")


def test_c01_a_page_opened_mid_answer_has_the_beginning_at_every_moment(
    person: Person, make_context: Callable[..., BrowserContext], director: Director
) -> None:
    context = make_context(person)
    seen = watched(context)
    page = context.new_page()
    page.goto(person.site.url)
    chat = Chat(page)
    chat.send("@told c01")
    part = director.part("c01").append("Hello ", "wor")
    expect(chat.answer_text).to_have_text("Hello wor")

    chat.reload()
    expect(chat.answer_text).to_have_text("Hello wor")
    part.append("ld").finish()
    chat.wait_answer("Hello world")
    chat.wait_idle()
    assert "Hello wor" in seen
    assert_prefixes(seen, "Hello world")


def test_c02_a_reload_after_the_first_chunk_shows_it_and_a_retry_works(
    chat: Chat, director: Director
) -> None:
    chat.send("@told c02")
    director.part("c02").append("The first chunk")
    expect(chat.answer_text).to_have_text("The first chunk")
    chat.reload()
    chat.wait_answer("The first chunk", "streaming")

    chat.stop_button.click()
    chat.wait_answer("The first chunk", "cancelled")
    chat.page.get_by_role("button", name="Retry").click()
    director.part("c02", time=2).append("All of it").finish()
    chat.wait_answer("All of it")
    chat.wait_idle()
    assert chat.says() == [
        ("user", "@told c02"),
        ("agent", "The first chunk"),
        ("user", "@told c02"),
        ("agent", "All of it"),
    ]
    expect(chat.page.get_by_role("button", name="Retry")).to_have_count(0)


def test_c13_a_final_text_replaces_what_had_streamed(
    person: Person, open_chat: Callable[..., Chat], director: Director
) -> None:
    chat = open_chat(person)
    chat.send("@told c13")
    part = director.part("c13").append("A", "B")
    expect(chat.answer_text).to_have_text("AB")
    part.replace("AB").finish()
    chat.wait_answer("AB")
    chat.wait_idle()
    assert chat.says() == [("user", "@told c13"), ("agent", "AB")]

    stored = partial(
        person.site.query,
        "SELECT m.text, m.html FROM chat_message m JOIN chat_conversation c ON"
        " m.conversation_id = c.id JOIN auth_user u ON c.user_id = u.id"
        " WHERE u.username = ? AND m.role = 'agent' AND m.state = 'final'",
        person.name,
    )
    chat.until(stored, "the answer is in the database")
    assert [(text, html.count("AB")) for text, html in stored()] == [("AB", 1)]
    chat.reload()
    chat.wait_says(("user", "@told c13"), ("agent", "AB"))
