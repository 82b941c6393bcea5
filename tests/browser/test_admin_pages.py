"""The admin's pages work under the site's Content-Security-Policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Person, new_people
from tests.browser.desk import DESK
from tests.browser.watch import Watch

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.browser


def assert_styled(page: Page) -> None:
    """Its style sheets and scripts are there."""
    expect(page.locator("#header")).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")
    assert page.evaluate("typeof django") == "object"


def test_the_admin_breaks_no_rule_of_the_csp(
    person: Person, make_context: Callable[..., BrowserContext]
) -> None:
    (staff,) = new_people(person.site, staff=True)
    watch = Watch()
    page = make_context(staff, **DESK).new_page()
    watch.on(page)
    page.goto(person.site.url)  # makes a conversation
    for path in ("/admin/", "/admin/chat/conversation/", "/admin/chat/conversation/?stale=30"):
        response = page.goto(person.site.url + path)
        assert response is not None
        assert response.ok
    page.goto(person.site.url + f"/admin/chat/conversation/?q={staff.name}")
    assert_styled(page)
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
    page.locator("#action-toggle").check()  # by the admin's own script
    expect(page.locator("input.action-select")).to_be_checked()
    page.locator("select[name=action]").select_option(label="Clear messages")
    page.locator("button[name=index]").click()
    expect(page.locator("#content")).to_contain_text("Erase every message")
    watch.assert_quiet(page)
    page.locator("#content input[type=submit]").click()
    expect(page.locator(".messagelist")).to_contain_text("Cleared the messages")
    page.locator("#result_list tbody th a").click()
    expect(page.locator("#content")).to_contain_text(staff.name)
    watch.assert_quiet(page)
