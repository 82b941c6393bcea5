"""A page opens with the newest 50 messages; earlier ones come on demand, none left out or twice."""

from __future__ import annotations

import pytest
from django.test import Client

from chat.models import Conversation, Message
from chat.transcript import store
from tests.pages.forms import Document
from tests.pages.make import fill

HTMX = {"HX-Request": "true"}


@pytest.fixture
def many(chat: Conversation) -> list[str]:
    """The texts of 130 messages."""
    return fill(chat, 130)


def texts_of(page: Document) -> list[str]:
    return [body.text for body in page.elements if "data-body" in body.attributes]


def test_a_page_opens_with_the_newest_fifty(
    web: Client, chat: Conversation, many: list[str]
) -> None:
    assert texts_of(Document(web.get("/c/alices-chat/").content)) == many[-50:]


def test_the_earlier_ones_follow_without_gap_or_double(
    web: Client, chat: Conversation, many: list[str]
) -> None:
    page = Document(web.get("/c/alices-chat/").content)
    seen = texts_of(page)
    presses = 0
    while links := page.one("p", id="earlier").text and page.all("a", hx_sync="this:drop"):
        page = Document(web.get(links[0].attributes["hx-get"], headers=HTMX).content)
        seen = texts_of(page) + seen
        presses += 1
    assert seen == many
    assert presses == 2


def test_earlier_messages_find_their_own_place(
    web: Client, chat: Conversation, many: list[str]
) -> None:
    order = Message.objects.get(text="message 10").seq
    answer = web.get(f"/c/alices-chat/earlier/?before={order:012d}.000", headers=HTMX)
    page = Document(answer.content)
    assert texts_of(page) == many[:10]
    assert {m.attributes["hx-swap-oob"] for m in page.messages} == {"upsert:#transcript"}
    assert page.one("p", id="earlier").text == ""
    assert "<main" not in answer.content.decode()


def test_a_page_of_200_can_be_seen_to_its_beginning(web: Client, chat: Conversation) -> None:
    texts = fill(chat, 210)
    page = Document(web.get("/c/alices-chat/").content)
    seen = texts_of(page)
    while links := page.all("a", hx_sync="this:drop"):
        page = Document(web.get(links[0].attributes["hx-get"], headers=HTMX).content)
        seen = texts_of(page) + seen
    assert seen == texts[10:]


def test_without_a_script_the_link_leads_to_a_page_with_all_of_them(
    web: Client, chat: Conversation, many: list[str]
) -> None:
    page = Document(web.get("/c/alices-chat/").content)
    for expected in (many[-100:], many):
        link = page.one("a", hx_sync="this:drop").attributes["href"]
        page = Document(web.get(link, follow=True).content)
        assert page.one("main").attributes["data-conversation"] == chat.key
        assert texts_of(page) == expected
    assert not page.all("a", hx_sync="this:drop")


def test_a_page_with_few_messages_offers_no_earlier_ones(web: Client, chat: Conversation) -> None:
    store.accept(chat, "hello", "id")
    page = Document(web.get("/c/alices-chat/").content)
    assert page.one("p", id="earlier").text == ""


@pytest.mark.parametrize(
    "place",
    ["", "x", "1", "1.", ".1", "-1.0", "²" * 12 + ".001", "9" * 30 + ".001", "\x00", "1.1\n"],
)
def test_a_place_that_is_none_is_not_found(web: Client, chat: Conversation, place: str) -> None:
    answer = web.get("/c/alices-chat/earlier/", {"before": place}, headers=HTMX)
    assert answer.status_code == 404


@pytest.mark.parametrize("place", ["x", "\x00", "999999999999.999", "000000000000.000", "1.1"])
def test_a_page_at_a_place_that_is_none_is_the_newest(
    web: Client, chat: Conversation, many: list[str], place: str
) -> None:
    answer = web.get("/c/alices-chat/", {"before": place})
    assert answer.status_code == 200
    assert texts_of(Document(answer.content))[-50:] == many[-50:]


def test_opening_a_page_erases_what_is_too_old(web: Client, chat: Conversation) -> None:
    fill(chat, 3)
    Message.objects.update(created_at="2020-01-01T00:00:00Z")
    assert texts_of(Document(web.get("/c/alices-chat/").content)) == []
    assert not Message.objects.exists()
