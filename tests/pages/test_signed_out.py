"""C66: whose login has ended is sent to the log-in, and back to the conversation afterwards."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from chat.models import Conversation

PAGE = "http://testserver/c/alices-chat/"
HTMX = {"HX-Request": "true", "HX-Current-URL": PAGE}
ROUTES = ("messages/", "stop/", "clear/", "retry/", "reconnect/")


def next_of(address: str) -> str:
    parts = urlsplit(address)
    assert parts.path == "/accounts/login/"
    return parse_qs(parts.query)["next"][0]


@pytest.fixture
def gone(web: Client, chat: Conversation) -> Client:
    """Alice's browser, with a cookie whose login has ended."""
    web.get("/c/alices-chat/")
    Session.objects.all().delete()
    return web


@pytest.mark.parametrize("route", ROUTES)
def test_c66_htmx_is_told_where_to_go(gone: Client, chat: Conversation, route: str) -> None:
    answer = gone.post(f"/c/alices-chat/{route}", {"text": "hello"}, headers=HTMX)
    assert (answer.status_code, answer.content) == (401, b"")
    assert next_of(answer.headers["HX-Redirect"]) == "/c/alices-chat/"
    assert not chat.requests.exists()


def test_c66_so_is_htmx_that_asks_for_earlier_messages(gone: Client) -> None:
    answer = gone.get("/c/alices-chat/earlier/?before=000000000001.000", headers=HTMX)
    assert answer.status_code == 401
    assert next_of(answer.headers["HX-Redirect"]) == "/c/alices-chat/"


@pytest.mark.parametrize("url", [None, "", "https://evil.example/x", "not an address", "//evil"])
def test_c66_nobody_is_sent_to_another_site(gone: Client, url: str | None) -> None:
    headers = {"HX-Request": "true"} | ({} if url is None else {"HX-Current-URL": url})
    answer = gone.post("/c/alices-chat/messages/", {"text": "hello"}, headers=headers)
    assert answer.headers["HX-Redirect"] == "/accounts/login/?next=/"


@pytest.mark.parametrize("route", ROUTES)
def test_c66_a_form_leads_to_the_log_in_and_back_to_the_page(
    gone: Client, chat: Conversation, alice: User, route: str
) -> None:
    answer = gone.post(f"/c/alices-chat/{route}", {"text": "hello"})
    assert answer.status_code == 302
    assert next_of(answer.headers["Location"]) == "/c/alices-chat/"
    assert not chat.requests.exists()
    credentials = {"username": "alice", "password": "alice's password"}
    answer = gone.post(answer.headers["Location"], credentials)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/c/alices-chat/")


@pytest.mark.parametrize("address", ["/", "/c/alices-chat/", "/c/alices-chat/?before=a%26b"])
def test_a_page_comes_back_after_the_log_in(gone: Client, address: str) -> None:
    answer = gone.get(address)
    assert answer.status_code == 302
    assert next_of(answer.headers["Location"]) == address


def test_a_stranger_is_asked_to_log_in_whatever_the_address(client: Client, db: None) -> None:
    assert client.get("/c/no-such-chat/").status_code == 302


def test_a_deactivated_user_is_sent_to_the_log_in(
    web: Client, chat: Conversation, alice: User
) -> None:
    User.objects.update(is_active=False)
    assert next_of(web.get("/c/alices-chat/").headers["Location"]) == "/c/alices-chat/"


def test_a_new_password_ends_the_other_logins(web: Client, chat: Conversation, alice: User) -> None:
    alice.set_password("a new password")
    alice.save()
    assert web.get("/c/alices-chat/").status_code == 302
