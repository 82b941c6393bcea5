"""The first paint needs the page and its one style sheet: it shows the end of the conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.director import Director
from tests.browser.watch import Watch

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Route

pytestmark = pytest.mark.browser

type MakeContext = Callable[..., BrowserContext]
WORDS = [f"Paragraph {number} of a long answer.\n\n" for number in range(80)]


@pytest.fixture
def reader(chat: Chat, person: Person, director: Director) -> Person:
    """Somebody with an answer that is longer than the screen."""
    chat.send(f"@told paint {person.name}")
    director.part(f"paint {person.name}").append(*WORDS).finish()
    chat.wait_ended()
    return person


def assert_at_the_end(chat: Chat) -> None:
    """The newest words are in view, the oldest are not, and the field can be used."""
    expect(chat.answer_text.locator("p").last).to_be_in_viewport(ratio=1)
    expect(chat.answer_text.locator("p").first).not_to_be_in_viewport()
    expect(chat.field).to_be_in_viewport(ratio=1)
    expect(chat.page.locator("h1")).to_be_in_viewport(ratio=1)


def test_without_javascript_the_newest_message_is_in_view(
    reader: Person, make_context: MakeContext
) -> None:
    page = make_context(reader, java_script_enabled=False).new_page()
    page.goto(reader.site.url)
    chat = Chat(page)
    assert_at_the_end(chat)
    page.mouse.move(200, 400)
    page.mouse.wheel(0, -100_000)
    expect(chat.messages.first).to_be_in_viewport()


def test_the_end_is_painted_while_the_scripts_are_still_on_their_way(
    reader: Person, make_context: MakeContext
) -> None:
    page = make_context(reader).new_page()
    held: list[Route] = []
    page.route("**/*.js", lambda route: held.append(route))
    page.goto(reader.site.url, wait_until="commit")
    chat = Chat(page)
    assert_at_the_end(chat)
    assert page.evaluate("performance.getEntriesByName('first-contentful-paint').length") == 1
    place = chat.answer_text.locator("p").last.bounding_box()
    assert place is not None
    assert held

    for route in held:
        route.continue_()
    chat.wait_connected()
    assert_at_the_end(chat)
    moved = chat.answer_text.locator("p").last.bounding_box()
    assert moved is not None
    assert abs(moved["y"] - place["y"]) < 1  # the scripts move nothing


def test_only_the_page_one_style_sheet_and_deferred_scripts_are_asked_for(
    reader: Person, open_chat: Callable[..., Chat]
) -> None:
    watch = Watch()
    chat = open_chat(reader, prepare=watch.on)
    chat.wait_connected()
    asked = [request.resource_type for request in watch.requests if request.redirected_to is None]
    scripts = asked.count("script")
    assert sorted(asked) == sorted(["document", "stylesheet", *["script"] * scripts])
    assert scripts == chat.page.locator("script").count()  # each once; the templates' tests count
    assert chat.page.locator("script:not([defer])").count() == 0
    assert chat.page.locator("script:not([src]), style, [style]").count() == 0
    faces = chat.page.evaluate("document.fonts.size")
    assert faces == 0
    watch.assert_quiet(chat.page)


def test_the_page_of_a_new_user_is_quiet_and_says_what_to_do(
    person: Person, open_chat: Callable[..., Chat]
) -> None:
    watch = Watch()
    chat = open_chat(person, prepare=watch.on)
    chat.wait_connected()
    expect(chat.page.locator(".empty")).to_be_in_viewport()
    chat.page.locator(".empty button").first.click()
    expect(chat.page.locator(".empty")).to_be_hidden()
    chat.wait_ended()
    assert chat.says()[0] == ("user", "@help")
    watch.assert_quiet(chat.page)
