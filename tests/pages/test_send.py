"""Sending a message: stored when it is answered, shown at once, with and without a script."""

from __future__ import annotations

import pytest
from django.test import Client

from chat.link import hub
from chat.models import Conversation, MessageState, RequestState
from chat.pages import views
from tests.pages.forms import Document

SEND = "/c/alices-chat/messages/"
HTMX = {"HX-Request": "true"}


def test_a_message_is_stored(web: Client, chat: Conversation) -> None:
    web.post(SEND, {"text": "hello", "client_id": "one"}, headers=HTMX)
    request = chat.requests.get()
    assert (request.text, request.client_id) == ("hello", "one")
    assert request.state == RequestState.PENDING
    message = chat.messages.get()
    assert (message.text, message.role, message.state) == ("hello", "user", MessageState.PENDING)
    assert message.request == request


def test_the_owner_is_told(
    web: Client, chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    poked: list[int] = []
    monkeypatch.setattr(views, "poke_soon", poked.append)
    web.post(SEND, {"text": "hello", "client_id": "one"}, headers=HTMX)
    assert poked == [chat.pk]


def test_no_owner_is_needed(web: Client, chat: Conversation) -> None:
    assert hub.current() is None
    assert web.post(SEND, {"text": "hello"}, headers=HTMX).status_code == 200


def test_htmx_gets_the_bubble_with_its_hooks(web: Client, chat: Conversation) -> None:
    answer = web.post(SEND, {"text": "hello\nyou", "client_id": "one"}, headers=HTMX)
    assert answer.status_code == 200
    fragment = Document(answer.content)
    (bubble,) = fragment.messages
    request = chat.requests.get()
    assert bubble.attributes["id"] == f"m-{bubble.attributes['data-message']}"
    assert bubble.attributes["data-role"] == "user"
    assert bubble.attributes["data-state"] == "pending"
    assert bubble.attributes["data-request"] == request.request_id
    assert bubble.attributes["data-order"] == f"{request.seq:012d}.000"
    (body,) = [element for element in fragment.elements if "data-body" in element.attributes]
    assert body.text == "hello\nyou"
    assert fragment.one(id="composer-error").text == ""


def test_the_bubble_never_replaces_what_the_socket_brought_first(
    web: Client, chat: Conversation
) -> None:
    answer = web.post(SEND, {"text": "hello", "client_id": "one"}, headers=HTMX)
    (bubble,) = Document(answer.content).messages
    assert bubble.attributes["hx-swap-oob"] == "insert:#transcript"


def test_without_a_script_the_page_comes_back(web: Client, chat: Conversation) -> None:
    answer = web.post(SEND, {"text": "hello", "client_id": "one"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/c/alices-chat/")
    page = Document(web.get("/c/alices-chat/").content)
    assert [m.attributes["data-request"] for m in page.messages] == [chat.requests.get().request_id]


def test_every_page_has_an_id_of_its_own_for_the_next_message(
    web: Client, chat: Conversation
) -> None:
    pages = [Document(web.get("/c/alices-chat/").content) for _ in range(2)]
    ids = {page.form("/messages/", "text").fields["client_id"] for page in pages}
    assert len(ids) == 2
    assert "" not in ids


def test_the_order_is_the_order_of_sending(web: Client, chat: Conversation) -> None:
    for text in ("one", "two", "three"):
        web.post(SEND, {"text": text, "client_id": text}, headers=HTMX)
    page = Document(web.get("/c/alices-chat/").content)
    orders = [message.attributes["data-order"] for message in page.messages]
    assert orders == sorted(orders)
    assert [request.text for request in chat.requests.order_by("seq")] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("typed", "stored"),
    [("a\r\nb\rc\nd", "a\nb\nc\nd"), ("  a  ", "  a  "), ("\n\na\n", "\n\na\n"), ("\ta", "\ta")],
)
def test_text_is_kept_as_typed_with_one_kind_of_line_end(
    web: Client, chat: Conversation, typed: str, stored: str
) -> None:
    web.post(SEND, {"text": typed}, headers=HTMX)
    assert chat.requests.get().text == stored


@pytest.mark.parametrize("text", ["", " ", "\r\n \t", "\u2003"])
def test_an_empty_message_is_refused_in_words(web: Client, chat: Conversation, text: str) -> None:
    answer = web.post(SEND, {"text": text, "client_id": "one"}, headers=HTMX)
    assert answer.status_code == 422
    error = Document(answer.content).one(id="composer-error")
    assert error.text == "Write something first."
    assert error.attributes["hx-swap-oob"] == "true"
    assert not chat.requests.exists()


def test_a_form_without_any_text_is_refused_in_words(web: Client, chat: Conversation) -> None:
    answer = web.post(SEND, {}, headers=HTMX)
    assert answer.status_code == 422
    assert "Write something first." in answer.content.decode()


def test_without_a_script_the_error_stands_in_the_page(web: Client, chat: Conversation) -> None:
    answer = web.post(SEND, {"text": "  ", "client_id": "one"})
    assert answer.status_code == 422
    page = Document(answer.content)
    assert page.one(id="composer-error").text == "Write something first."
    assert page.form("/messages/", "text").fields["text"] == "  "
    assert page.form("/messages/", "text").fields["client_id"] != "one"


@pytest.mark.parametrize("client_id", ["x" * 65, "a b", "ü", "a\x00", "<b>", "a\n"])
def test_an_id_that_no_page_made_is_refused(
    web: Client, chat: Conversation, client_id: str
) -> None:
    answer = web.post(SEND, {"text": "hello", "client_id": client_id})
    assert answer.status_code == 422
    page = Document(answer.content)
    assert page.one(id="composer-error").text == "The page is out of date. Reload it."
    assert page.form("/messages/", "text").fields["text"] == "hello"
    assert not chat.requests.exists()
