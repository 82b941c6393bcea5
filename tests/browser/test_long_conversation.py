"""Two hundred messages of 20 KB on a slow phone: the newest first, the rest when asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.director import Director

pytestmark = pytest.mark.browser

SLOWER = 4
"""Times, the browser's processor."""
ALL, FIRST = 200, 50
FILL = """
from django.contrib.auth.models import User
from chat.display.blocks import render_exact, wrap_blocks
from chat.display.content import Segment
from chat.models import Conversation, Message
conversation = Conversation.objects.get(user__username={name!r})
body = "\\n\\n".join(["Words of a long message. " * 20] * ({chars} // 500))
blocks = render_exact([Segment("markdown", body)])
Message.objects.bulk_create(
    Message(
        uid=f"{{conversation.pk}}-{{number}}", conversation=conversation,
        role="agent" if number % 2 else "user", seq=number + 1, revision=1,
        text=f"Message {{number}}. " + body,
        html=wrap_blocks(
            f"{{conversation.pk}}-{{number}}",
            [f"<p>Message {{number}}.</p>", *blocks],
        ),
    )
    for number in range({count})
)
Conversation.objects.filter(pk=conversation.pk).update(next_seq=1000, revision=1)
"""


def fill(chat: Chat, person: Person, count: int, chars: int) -> None:
    """Put messages into the person's conversation, past the site."""
    person.site.manage("shell", "-c", FILL.format(name=person.name, count=count, chars=chars))
    chat.reload()


def numbers(chat: Chat) -> list[int]:
    """Which messages the page has, by the numbers that they begin with."""
    firsts = chat.messages.evaluate_all(
        "all => all.map(one => one.querySelector('p').textContent.match(/[0-9]+/)[0])"
    )
    return [int(first) for first in firsts]


def test_c81_two_hundred_long_messages_on_a_slow_phone(
    person: Person, open_chat: Callable[..., Chat], director: Director
) -> None:
    chat = open_chat(person)
    chat.wait_connected()
    fill(chat, person, ALL, 20_000)
    slow = chat.page.context.new_cdp_session(chat.page)
    slow.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    chat.reload()
    expect(chat.messages).to_have_count(FIRST)
    assert numbers(chat) == list(range(ALL - FIRST, ALL))
    expect(chat.answer_text.locator(".block").last).to_be_in_viewport()
    chat.field.press_sequentially("@told c81")
    expect(chat.field).to_have_value("@told c81")

    earlier = chat.page.get_by_role("link", name="Earlier messages")
    for shown in range(2 * FIRST, ALL + 1, FIRST):
        earlier.click()
        expect(chat.messages).to_have_count(shown)
        assert numbers(chat) == list(range(ALL - shown, ALL))
    expect(earlier).to_have_count(0)
    chat.field.press_sequentially(" all")
    expect(chat.field).to_have_value("@told c81 all")
    chat.page.locator("#composer button[type=submit]").click()
    director.part("c81 all").append("Still here").finish()
    chat.wait_answer("Still here")
    expect(chat.answer).to_be_in_viewport()


def test_earlier_messages_come_in_above_what_the_reader_looks_at(
    chat: Chat, person: Person
) -> None:
    fill(chat, person, 120, 500)
    expect(chat.messages).to_have_count(FIRST)
    earlier = chat.page.get_by_role("link", name="Earlier messages")
    for shown in (100, 120):
        chat.page.locator("#scroller").evaluate("scroller => { scroller.scrollTop = 0; }")
        expect(earlier).to_be_in_viewport()
        looked_at = chat.page.locator(f"#{chat.messages.first.get_attribute('id')}")
        before = looked_at.bounding_box()
        earlier.click()
        expect(chat.messages).to_have_count(shown)
        after = looked_at.bounding_box()
        assert before is not None
        assert after is not None
        assert abs(before["y"] - after["y"]) <= 1
    assert numbers(chat) == list(range(120))
    expect(earlier).to_have_count(0)
