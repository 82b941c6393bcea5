"""A 200 KB answer in 5,000 chunks: the page stays responsive, and gets what grows with the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import PATIENCE_MS, Chat
from tests.browser.conftest import Person
from tests.browser.director import Director

if TYPE_CHECKING:
    from playwright.sync_api import Page, WebSocket

pytestmark = pytest.mark.browser

CHUNK_CHARS = 40
CHUNKS = 5_000
PARAGRAPH_CHUNKS = 25
BURST = 250
FREEZE_MS = 4_000
"""A page that lays out or parses all of the text for each chunk stands still for longer."""
NOTICE_FREEZES = """
let last = performance.now();
window.longestFreeze = 0;
setInterval(() => {
  const now = performance.now();
  window.longestFreeze = Math.max(window.longestFreeze, now - last);
  last = now;
}, 20);
"""


def chunks(count: int) -> list[str]:
    """Numbered words, with the end of a paragraph now and then."""
    made = []
    for number in range(count):
        words = f"chunk {number:04} of some words of an answer"
        end = "\n\n" if number % PARAGRAPH_CHUNKS == PARAGRAPH_CHUNKS - 1 else " "
        made.append(words.ljust(CHUNK_CHARS - len(end), ".") + end)
    return made


def test_c75_a_200_kb_answer_in_5000_chunks_costs_twice_what_half_of_it_does(
    person: Person, open_chat: Callable[..., Chat], director: Director
) -> None:
    received: list[int] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: received.append(len(frame)))

    def prepare(page: Page) -> None:
        page.on("websocket", listen)
        page.add_init_script(NOTICE_FREEZES)

    chat = open_chat(person, prepare=prepare)
    chat.wait_connected()

    def bytes_of(name: str, count: int) -> int:
        """Stream an answer, typing meanwhile; gives the bytes that the page received for it."""
        before = sum(received)
        chat.send(f"@told {name}")
        part = director.part(name)
        whole = chunks(count)
        typed = ""
        for start in range(0, count, BURST):
            part.append(*whole[start : start + BURST])
            chat.field.press_sequentially("x")
            typed += "x"
            assert chat.field.input_value() == typed
        part.finish()
        expect(chat.answer_text).to_contain_text(whole[-1].strip(), timeout=2 * PATIENCE_MS)
        chat.wait_ended(chat.answers.count())
        chat.field.fill("")
        assert chat.bubbles()[-1].text == " ".join("".join(whole).split())
        return sum(received) - before

    half = bytes_of("c75 half", CHUNKS // 2)
    whole = bytes_of("c75 whole", CHUNKS)
    assert CHUNKS * CHUNK_CHARS < whole < 2.5 * half
    assert chat.page.evaluate("window.longestFreeze") < FREEZE_MS
