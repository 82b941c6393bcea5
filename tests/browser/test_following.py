"""The page follows the end only while the reader is there, and never moves what they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.desk import DESK
from tests.browser.director import Director, Part

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

pytestmark = pytest.mark.browser

NEAR_PX = 2
TICK_PX = 100
GAP = """
() => {
  const scroller = document.getElementById("scroller");
  return scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
}
"""
NOTE_JUMPS = """
number => {
  const one = document.querySelectorAll("#transcript p")[number];
  const wanted = one.getBoundingClientRect().top;
  window.jumps = [];
  const look = () => {
    const top = one.getBoundingClientRect().top;
    if (Math.abs(top - wanted) > 1) window.jumps.push(top - wanted);
    requestAnimationFrame(look);
  };
  look();
}
"""
"""Looks at every frame whether a paragraph is still where it was."""
VISIBLE_PARAGRAPH = """
() => Array.from(document.querySelectorAll("#transcript p")).findIndex(
  one => one.getBoundingClientRect().top > document.getElementById("scroller").offsetTop + 50)
"""


def paragraphs(name: str, count: int) -> list[str]:
    return [f"{name} {number}, which has some words to read.\n\n" for number in range(count)]


def stream(chat: Chat, part: Part, name: str, count: int = 20) -> None:
    """Show so many paragraphs one after the other, each of them drawn before the next."""
    for piece in paragraphs(name, count):
        part.append(piece)
        expect(chat.answer_text).to_contain_text(piece.strip())


def wheel(chat: Chat, pixels: int) -> None:
    """Turn the mouse wheel over the messages."""
    chat.page.mouse.move(400, 300)
    chat.page.mouse.wheel(0, pixels)


def swipe_down(chat: Chat, pixels: int) -> None:
    """Move a finger over the messages, towards what was said before."""
    browser = chat.page.context.new_cdp_session(chat.page)
    for kind, y in (
        ("touchStart", 300),
        *[("touchMove", 300 + moved) for moved in range(10, pixels + 1, 10)],
        ("touchEnd", None),
    ):
        points = [] if y is None else [{"x": 200, "y": y}]
        browser.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def settled(chat: Chat) -> float:
    """How far the reader is from the end, once two frames are drawn."""
    return float(
        chat.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
            f".then({GAP})"
        )
    )


@pytest.fixture
def desk(
    person: Person,
    make_context: Callable[..., BrowserContext],
    open_chat: Callable[..., Chat],
    director: Director,
) -> Chat:
    """A chat on a desktop with an answer that is longer than the screen."""
    chat = open_chat(person, in_=make_context(person, **DESK))
    chat.wait_connected()
    chat.send(f"@told long {person.name}")
    part = director.part(f"long {person.name}")
    part.append(*paragraphs("Before", 60)).finish()
    chat.wait_ended()
    return chat


def test_c87_one_tick_of_the_wheel_lets_go_of_a_growing_answer(
    desk: Chat, director: Director
) -> None:
    pill = desk.page.locator("#newer")
    desk.send("@told c87 wheel")
    part = director.part("c87 wheel")
    stream(desk, part, "Followed", 10)
    assert settled(desk) < NEAR_PX
    expect(pill).to_be_hidden()

    part.append(*paragraphs("Just before", 5))
    wheel(desk, -TICK_PX)
    part.append(*paragraphs("Just after", 5))
    desk.until(lambda: settled(desk) >= TICK_PX - NEAR_PX, "the wheel has moved the messages")
    desk.page.evaluate(NOTE_JUMPS, desk.page.evaluate(VISIBLE_PARAGRAPH))
    stream(desk, part, "Not followed", 20)
    assert desk.page.evaluate("window.jumps") == []
    assert settled(desk) > 3 * TICK_PX
    expect(pill).to_be_visible()
    part.finish()
    desk.wait_ended(2)
    assert desk.page.evaluate("window.jumps") == []

    pill.click()
    assert settled(desk) < NEAR_PX
    expect(pill).to_be_hidden()


def test_c87_a_tick_down_to_the_end_and_a_press_of_the_pill_follow_again(
    desk: Chat, director: Director
) -> None:
    desk.send("@told c87 back")
    part = director.part("c87 back")
    stream(desk, part, "First", 5)
    wheel(desk, -TICK_PX)
    desk.until(lambda: settled(desk) > NEAR_PX, "the wheel has moved the messages")
    wheel(desk, 10 * TICK_PX)
    desk.until(lambda: settled(desk) < NEAR_PX, "the reader is back at the end")
    stream(desk, part, "Second", 5)
    assert settled(desk) < NEAR_PX

    wheel(desk, -3 * TICK_PX)
    desk.until(lambda: settled(desk) > NEAR_PX, "the wheel has moved the messages")
    stream(desk, part, "Third", 3)
    desk.page.locator("#newer").click()
    stream(desk, part, "Fourth", 5)
    assert settled(desk) < NEAR_PX
    part.finish()


def test_c87_a_message_of_ones_own_goes_to_the_end(desk: Chat, director: Director) -> None:
    wheel(desk, -10 * TICK_PX)
    desk.until(lambda: settled(desk) > NEAR_PX, "the wheel has moved the messages")
    desk.send("@told c87 own")
    expect(desk.messages.last).to_be_in_viewport()
    part = director.part("c87 own")
    stream(desk, part, "Answer", 5)
    assert settled(desk) < NEAR_PX
    part.finish()


def test_c87_a_finger_lets_go_of_a_growing_answer(chat: Chat, director: Director) -> None:
    chat.send("@told c87 finger")
    part = director.part("c87 finger").append(*paragraphs("Before", 60))
    stream(chat, part, "Followed", 3)
    assert settled(chat) < NEAR_PX
    swipe_down(chat, 150)
    chat.until(lambda: settled(chat) == settled(chat) > TICK_PX, "the messages have moved")
    chat.page.evaluate(NOTE_JUMPS, chat.page.evaluate(VISIBLE_PARAGRAPH))
    stream(chat, part, "Not followed", 10)
    assert chat.page.evaluate("window.jumps") == []
    expect(chat.page.locator("#newer")).to_be_visible()
    chat.page.locator("#newer").tap()
    assert settled(chat) < NEAR_PX
    part.finish()


def test_a_growing_answer_moves_nothing_above_it_while_it_fits(
    chat: Chat, director: Director
) -> None:
    chat.send("@told steady")
    part = director.part("steady").append("The first paragraph.\n\n")
    expect(chat.answer_text).to_contain_text("The first paragraph.")
    chat.page.evaluate(NOTE_JUMPS, 0)
    stream(chat, part, "More", 5)
    part.finish()
    chat.wait_ended()
    assert chat.page.evaluate("window.jumps") == []
