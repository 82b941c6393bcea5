"""A conversation that goes on while something happens to its page, at random moments."""

from __future__ import annotations

import random
from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.chat import PATIENCE_MS, Chat
from tests.browser.director import Director

MESSAGES = 3
PIECES = 5
PAUSE_MS = 150
SHARE = 0.3
LOOK_EVERY_MS = 20


def converse(
    chat: Chat,
    director: Director,
    name: str,
    rng: random.Random,
    disturb: Callable[[list[str]], None],
) -> list[str]:
    """Say some things, each answered in pieces. Before a piece, now and then, `disturb`, which
    may say more and then adds it to what it is given.

    Gives what was sent, in order.
    """
    sent: list[str] = []

    def say() -> None:
        text = f"@told {name} {len(said)}"
        send_surely(chat, text)
        said.append(text)
        sent.append(text)

    said: list[str] = []
    for number in range(MESSAGES):
        if len(said) == number:
            say()
        part = director.part(f"{name} {number}")
        for _ in range(rng.randint(2, PIECES)):
            part.append(f"w{rng.randrange(100)} ")
            if len(said) < MESSAGES and rng.random() < SHARE:
                say()
            if rng.random() < SHARE:
                disturb(sent)
            chat.page.wait_for_timeout(rng.random() * PAUSE_MS)
        part.finish()
    return sent


def send_surely(chat: Chat, text: str) -> None:
    """As somebody who presses again when told that it did not work."""
    chat.press_send(text)
    press_again(chat)


def press_again(chat: Chat) -> None:
    """Until what stands in the field is accepted."""
    for _ in range(PATIENCE_MS // LOOK_EVERY_MS):
        if not chat.field.input_value():
            return
        if chat.error.inner_text():
            chat.page.locator("#composer button[type=submit]").click()
        chat.page.wait_for_timeout(LOOK_EVERY_MS)
    expect(chat.field).to_have_value("")
