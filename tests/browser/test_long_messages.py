"""A paste of megabytes neither freezes the field nor is lost, and is refused in clear words."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat

pytestmark = pytest.mark.browser

MEGABYTES = 3_000_000
LINES = 20_000
SET = "(field, text) => { field.value = text; field.dispatchEvent(new Event('input')); }"
"""As a keyboard's or an extension's own insertion does it."""
SEND = "#composer button[type=submit]"


def paste(chat: Chat, text: str) -> None:
    """Copy a text elsewhere and paste it here."""
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chat.page.evaluate("text => navigator.clipboard.writeText(text)", text)
    chat.field.press("Control+V")


def length(chat: Chat) -> int:
    return int(chat.field.evaluate("field => field.value.length"))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        pytest.param("x" * MEGABYTES, "3.0 MB", id="3 MB in one line"),
        pytest.param("a line of words to paste\n" * LINES, "500 kB", id="20,000 lines"),
    ],
)
def test_c80_a_huge_paste_is_refused_at_once_and_takes_nothing_away(
    text: str, size: str, chat: Chat
) -> None:
    chat.field.press_sequentially("Before")
    paste(chat, text)
    expect(chat.error).to_contain_text("20 kB at most")
    expect(chat.error).to_contain_text(size)
    chat.field.press_sequentially(" and after")
    expect(chat.field).to_have_value("Before and after")
    chat.send("@display short")
    chat.wait_answer("short")
    expect(chat.error).to_be_empty()


@pytest.mark.parametrize(
    ("text", "size"),
    [
        pytest.param("x" * MEGABYTES, "3.0 MB", id="3 MB in one line"),
        pytest.param("a line of words to fill in\n" * LINES, "540.1 kB", id="20,000 lines"),
    ],
)
def test_c80_a_huge_text_in_the_field_stays_usable_and_is_refused_with_the_limit(
    text: str, size: str, chat: Chat
) -> None:
    sent: list[str] = []
    chat.page.on("request", lambda request: sent.append(request.method))
    chat.field.evaluate(SET, text)
    chat.field.press_sequentially("!")
    assert length(chat) == len(text) + 1
    expect(chat.page.locator("#limit")).to_contain_text("20 kB")
    expect(chat.field).to_be_in_viewport()
    expect(chat.page.locator(SEND)).to_be_in_viewport()

    chat.page.locator(SEND).click()
    expect(chat.error).to_contain_text("20 kB at most")
    expect(chat.error).to_contain_text(size)
    assert length(chat) == len(text) + 1
    assert "POST" not in sent
    chat.send("@display fine")
    chat.wait_answer("fine")
    expect(chat.error).to_be_empty()
    assert chat.says() == [("user", "@display fine"), ("agent", "fine")]


def test_c80_the_server_refuses_what_the_page_did_not_and_the_text_stays(chat: Chat) -> None:
    chat.page.locator("#composer").evaluate("form => { form.dataset.limit = 1e9; }")
    chat.page.evaluate("localStorage.clear()")
    answers: list[int] = []
    chat.page.route(
        "**/messages/", lambda route: route.continue_(post_data=b"text=" + b"x" * 40_000)
    )
    chat.page.on("response", lambda response: answers.append(response.status))
    chat.press_send("To be made longer on the way")
    expect(chat.error).to_contain_text("20 kB at most")
    expect(chat.field).to_have_value("To be made longer on the way")
    expect(chat.messages).to_have_count(0)
    assert set(answers) <= {413, 422}


def test_the_limit_is_counted_where_it_is_near(chat: Chat) -> None:
    limit = chat.page.locator("#limit")
    paste(chat, "x" * 17_900)
    expect(limit).to_be_hidden()
    paste(chat, "x" * 200)
    expect(limit).to_be_visible()
    expect(limit).to_have_text("18.1 kB of 20 kB at most")
    expect(limit).not_to_have_class(re.compile("over"))
    paste(chat, "é" * 951)  # two bytes each
    expect(limit).to_have_text("20.1 kB of 20 kB at most")
    expect(limit).to_have_class(re.compile("over"))
    chat.field.fill("short")
    expect(limit).to_be_hidden()


def test_a_message_of_just_the_limit_is_taken(chat: Chat) -> None:
    chat.send("@display " + "y" * (20_000 - len("@display ")))
    chat.wait_answer("y" * (20_000 - len("@display ")))
