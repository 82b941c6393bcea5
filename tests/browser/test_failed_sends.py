"""A press that comes to nothing says so, keeps what was typed, and the next one works."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.director import Director

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = pytest.mark.browser

FOREIGN_PAGE = "<!doctype html><title>No</title><h1>A page of some proxy</h1>"


def refuse(status: int | None) -> Callable[[Route], None]:
    """Answer with a status that means nothing to the page, or not at all."""

    def answer(route: Route) -> None:
        if status is None:
            route.abort("connectionreset")
        else:
            route.fulfill(status=status, content_type="text/html", body=FOREIGN_PAGE)

    return answer


def assert_said(chat: Chat) -> None:
    """There is an error that the user sees, and nothing of the answer's page."""
    expect(chat.error).not_to_be_empty()
    expect(chat.error).to_be_in_viewport()
    expect(chat.page.locator("h1")).not_to_contain_text("proxy")
    expect(chat.page.locator("main[data-conversation]")).to_be_visible()


@pytest.mark.parametrize("status", [401, 403, 429, 500, None])
def test_c67_a_failed_send_is_told_and_the_next_one_works(
    status: int | None, chat: Chat, director: Director
) -> None:
    name = f"c67 send {status}"
    chat.page.route("**/messages/", refuse(status))
    chat.press_send(f"@told {name}")
    assert_said(chat)
    expect(chat.field).to_have_value(f"@told {name}")
    expect(chat.messages).to_have_count(0)

    chat.page.unroute("**/messages/")
    chat.page.locator("#composer button[type=submit]").click()
    director.part(name).append("At last").finish()
    chat.wait_answer("At last")
    chat.wait_idle()
    expect(chat.field).to_have_value("")
    expect(chat.error).to_be_empty()
    assert chat.says() == [("user", f"@told {name}"), ("agent", "At last")]
    assert director.count(name) == 1


def test_c67_a_failed_stop_a_failed_retry_and_a_failed_clear_are_told(
    chat: Chat, director: Director
) -> None:
    chat.send("@told c67 others")
    director.part("c67 others").append("On and on")
    chat.wait_answer("On and on", "streaming")
    chat.page.route("**/stop/", refuse(500))
    chat.stop_button.click()
    assert_said(chat)
    chat.page.unroute("**/stop/")
    chat.stop_button.click()
    chat.wait_answer("On and on", "cancelled")
    expect(chat.error).to_be_empty()

    chat.page.route("**/retry/", refuse(None))
    chat.page.get_by_role("button", name="Retry").click()
    assert_said(chat)

    chat.page.route("**/clear/", refuse(403))
    chat.page.get_by_label("Menu").click()
    chat.page.get_by_text("Clear chat").click()
    chat.page.get_by_role("button", name="Erase all messages").click()
    assert_said(chat)
    expect(chat.messages).to_have_count(2)
