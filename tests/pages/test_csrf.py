"""C67: a form without this browser's token is refused, and the user sees that it was."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation
from chat.transcript import store
from tests.pages.forms import Document

HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/c/alices-chat/"}
ROUTES = ("messages/", "stop/", "clear/", "retry/", "reconnect/")


@pytest.fixture
def strict(alice: User) -> Client:
    """Alice's browser, at a site that checks."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    return client


def token(client: Client) -> str:
    page = Document(client.get("/c/alices-chat/").content)
    return page.form("/messages/", "text").fields["csrfmiddlewaretoken"]


@pytest.mark.parametrize("route", ROUTES)
def test_a_form_with_a_wrong_token_is_refused_on_a_page(
    strict: Client, chat: Conversation, route: str
) -> None:
    store.accept(chat, "hello", "one")
    token(strict)
    data = {"text": "more", "csrfmiddlewaretoken": "x" * 64}
    answer = strict.post(f"/c/alices-chat/{route}", data)
    assert answer.status_code == 403
    assert "This page is out of date" in answer.content.decode()
    assert "Nothing was sent." in answer.content.decode()
    assert chat.requests.count() == 1


@pytest.mark.parametrize("route", ROUTES)
def test_c67_htmx_is_given_something_to_show(
    strict: Client, chat: Conversation, route: str
) -> None:
    token(strict)
    answer = strict.post(f"/c/alices-chat/{route}", {"text": "more"}, headers=HTMX)
    assert answer.status_code == 403
    error = Document(answer.content).one(id="composer-error")
    assert error.attributes["hx-swap-oob"] == "true"
    assert error.text == "This page is out of date. Nothing was sent: reload it and try again."
    assert not chat.requests.exists()


def test_c67_who_is_logged_out_and_has_lost_the_token_is_sent_to_the_log_in(
    chat: Conversation,
) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/c/alices-chat/messages/", {"text": "more"}, headers=HTMX)
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"] == "/accounts/login/?next=/c/alices-chat/"


def test_the_token_of_the_page_is_accepted_as_a_field_and_as_a_header(
    strict: Client, chat: Conversation
) -> None:
    known = token(strict)
    address = "/c/alices-chat/messages/"
    assert strict.post(address, {"text": "a", "csrfmiddlewaretoken": known}).status_code == 303
    headers = {**HTMX, "X-CSRFToken": known}
    assert strict.post(address, {"text": "b"}, headers=headers).status_code == 200
    assert [request.text for request in chat.requests.order_by("seq")] == ["a", "b"]


def test_the_token_of_another_browser_is_refused(
    strict: Client, chat: Conversation, bob: User
) -> None:
    other = Client(enforce_csrf_checks=True)
    other.force_login(bob)
    Conversation.objects.create(user=bob, key="bobs-chat")
    page = Document(other.get("/c/bobs-chat/").content)
    foreign = page.form("/messages/", "text").fields["csrfmiddlewaretoken"]
    token(strict)
    data = {"text": "a", "csrfmiddlewaretoken": foreign}
    assert strict.post("/c/alices-chat/messages/", data).status_code == 403


def test_a_page_of_another_site_cannot_send(strict: Client, chat: Conversation) -> None:
    data = {"text": "a", "csrfmiddlewaretoken": token(strict)}
    answer = strict.post(
        "/c/alices-chat/messages/", data, headers={"Origin": "https://evil.example"}
    )
    assert answer.status_code == 403
    assert not chat.requests.exists()


@pytest.mark.parametrize("address", ["/accounts/login/", "/accounts/logout/"])
def test_logging_in_and_out_need_the_token(strict: Client, db: None, address: str) -> None:
    client = strict if "logout" in address else Client(enforce_csrf_checks=True)
    assert client.post(address, {"username": "alice"}).status_code == 403


def test_the_script_reads_the_cookie_that_the_site_sets(strict: Client, chat: Conversation) -> None:
    from django.conf import settings

    script = (settings.BASE_DIR / "static/chat/composer.js").read_text(encoding="utf-8")
    token(strict)
    assert settings.CSRF_COOKIE_NAME in strict.cookies
    assert f"{settings.CSRF_COOKIE_NAME}=" in script
