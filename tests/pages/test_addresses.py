"""Who reaches what: one's own conversation, and for every other address the same 404."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation
from chat.transcript import store
from tests.pages.forms import Document

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse

BAD_KEYS = (".", "..", "x" * 129, "josé", "a b", "a\n", "a\x00b", "a/b", "%2e", "<b>", "a'--")
ROUTES = ("", "earlier/?before=000000000001.000")
POST_ROUTES = ("messages/", "stop/", "clear/", "retry/", "reconnect/")


def everything(client: Client, key: str) -> list[_MonkeyPatchedWSGIResponse]:
    """Every route of one conversation, asked for as its page would."""
    address = f"/c/{quote(key)}/"
    asked = [client.get(address + route) for route in ROUTES]
    data = {"text": "hello", "request": "r"}
    return asked + [client.post(address + route, data) for route in POST_ROUTES]


def test_ones_own_conversation_opens(web: Client, chat: Conversation) -> None:
    page = web.get("/c/alices-chat/")
    assert page.status_code == 200
    main = Document(page.content).one("main")
    assert main.attributes["data-conversation"] == "alices-chat"


@pytest.mark.parametrize("key", ["a", "x" * 128, "...", "-", "A_z.0-9"])
def test_every_legal_key_opens(web: Client, alice: User, key: str) -> None:
    Conversation.objects.create(user=alice, key=key)
    assert web.get(f"/c/{key}/").status_code == 200


def test_a_strangers_conversation_is_as_one_that_does_not_exist(
    client: Client, bob: User, chat: Conversation
) -> None:
    store.accept(chat, "a secret", "id")
    client.force_login(bob)
    strange, unknown = everything(client, chat.key), everything(client, "no-such-chat")
    assert [answer.status_code for answer in strange] == [404] * len(strange)
    for one, other in zip(strange, unknown, strict=True):
        assert one.content == other.content
        assert one.headers == other.headers
    assert chat.requests.count() == 1


def test_a_stranger_learns_no_more_over_htmx(client: Client, bob: User, chat: Conversation) -> None:
    client.force_login(bob)
    data, headers = {"text": "hello"}, {"HX-Request": "true"}
    strange = client.post("/c/alices-chat/messages/", data, headers=headers)
    unknown = client.post("/c/no-such-chat/messages/", data, headers=headers)
    assert (strange.status_code, strange.content) == (404, unknown.content)


def test_staff_reach_no_conversation_of_others(
    client: Client, staff: User, chat: Conversation
) -> None:
    client.force_login(staff)
    assert client.get("/c/alices-chat/").status_code == 404


@pytest.mark.parametrize("key", BAD_KEYS)
def test_a_bad_key_is_not_found(web: Client, alice: User, key: str) -> None:
    # Even where there is such a row.
    Conversation.objects.create(user=alice, key=key.replace("\x00", "0")[:128])
    assert {answer.status_code for answer in everything(web, key)} == {404}
    assert web.get(f"/c/{quote(key, safe='')}/").status_code == 404


def test_a_key_ends_where_its_address_ends(web: Client, chat: Conversation) -> None:
    for address in ("/c/alices-chat/%0A", "/c/alices-chat%0A/", "/c/alices-chat/x", "/c//"):
        assert web.get(address).status_code == 404


def test_a_page_that_is_not_there_says_so(web: Client) -> None:
    answer = web.get("/nowhere/")
    assert answer.status_code == 404
    assert "There is no such page or conversation here." in answer.content.decode()


@pytest.mark.parametrize("route", POST_ROUTES)
def test_what_changes_something_is_no_address_to_visit(
    web: Client, chat: Conversation, route: str
) -> None:
    for method in (web.get, web.head, web.put, web.delete):
        assert method(f"/c/alices-chat/{route}").status_code == 405


@pytest.mark.parametrize("address", ["/", "/c/alices-chat/", "/c/alices-chat/" + ROUTES[1]])
def test_a_page_takes_no_form(web: Client, chat: Conversation, address: str) -> None:
    for method in (web.post, web.put, web.delete):
        assert method(address).status_code == 405


def test_a_monitor_may_ask_for_the_head_only(web: Client, chat: Conversation) -> None:
    answer = web.head("/c/alices-chat/")
    assert (answer.status_code, answer.content) == (200, b"")
