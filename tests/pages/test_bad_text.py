"""C59: what no database and no peer can hold is taken out of a message, and harms nowhere else."""

from __future__ import annotations

import pytest
from django.test import Client

from chat.models import Conversation
from chat.pages.forms import MessageForm
from tests.pages.forms import Document

SEND = "/c/alices-chat/messages/"
HTMX = {"HX-Request": "true"}
FORM = "application/x-www-form-urlencoded"


def test_c59_a_nul_is_taken_out(web: Client, chat: Conversation) -> None:
    answer = web.post(SEND, {"text": "a\x00b"}, headers=HTMX)
    assert answer.status_code == 200
    assert chat.requests.get().text == chat.messages.get().text == "ab"
    assert "\x00" not in answer.content.decode()


def test_c59_nothing_but_nuls_is_empty(web: Client, chat: Conversation) -> None:
    answer = web.post(SEND, {"text": "\x00\x00"})
    assert answer.status_code == 422
    page = Document(answer.content)
    assert page.one(id="composer-error").text == "Write something first."
    assert page.form("/messages/", "text").fields["text"] == ""


@pytest.mark.parametrize("encoded", ["a%ED%A0%80b", "a%FFb", "a%C3", "%F4%90%80%80"])
def test_c59_bytes_that_are_no_text_become_marks(
    web: Client, chat: Conversation, encoded: str
) -> None:
    answer = web.post(SEND, f"text={encoded}", content_type=FORM, headers=HTMX)
    assert answer.status_code == 200
    assert "\ufffd" in chat.requests.get().text


def test_c59_a_lone_surrogate_becomes_a_mark() -> None:
    form = MessageForm({"text": "a\ud800b", "client_id": "one"})
    assert form.is_valid()
    assert form.cleaned_data["text"] == "a\ufffdb"


@pytest.mark.parametrize(
    "address",
    [
        "/c/alices-chat/?before=%00",
        "/?x=%00",
        "/accounts/login/?next=%00",
        "/accounts/login/?next=/%00",
        "/accounts/one-time/?sesame=%00",
        "/accounts/one-time/?sesame=%ED%A0%80",
    ],
)
def test_c59_a_nul_in_an_address_is_no_fault(web: Client, chat: Conversation, address: str) -> None:
    assert web.get(address).status_code < 500
    assert Client().get(address).status_code < 500


@pytest.mark.parametrize("route", ["stop", "retry"])
def test_c59_a_nul_in_the_name_of_a_request_is_no_fault(
    web: Client, chat: Conversation, route: str
) -> None:
    assert web.post(f"/c/alices-chat/{route}/", {"request": "a\x00"}).status_code in (303, 404)
