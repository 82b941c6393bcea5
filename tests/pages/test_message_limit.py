"""How long a message may be: counted in bytes as UTF-8, said in words, with the text given back."""

from __future__ import annotations

import pytest
from django.test import Client

from chat.models import Conversation
from chat.pages.forms import size
from tests.pages.forms import Document

SEND = "/c/alices-chat/messages/"
HTMX = {"HX-Request": "true"}
LIMIT = 20_000


@pytest.mark.parametrize(
    "text",
    ["x" * LIMIT, "é" * (LIMIT // 2), "😀" * (LIMIT // 4), "x\r\n" * (LIMIT // 2)],
    ids=["ascii", "two bytes each", "four bytes each", "line ends count once"],
)
def test_as_long_as_the_limit_is_sent(web: Client, chat: Conversation, text: str) -> None:
    answer = web.post(SEND, {"text": text}, headers=HTMX)
    assert answer.status_code == 200
    assert len(chat.requests.get().text.encode()) == LIMIT


@pytest.mark.parametrize(
    "text",
    ["x" * (LIMIT + 1), "é" * (LIMIT // 2) + "x", "😀" * (LIMIT // 4) + "x"],
    ids=["ascii", "two bytes each", "four bytes each"],
)
def test_one_byte_more_is_not(web: Client, chat: Conversation, text: str) -> None:
    answer = web.post(SEND, {"text": text}, headers=HTMX)
    assert answer.status_code == 422
    error = Document(answer.content).one(id="composer-error").text
    assert "This message has 20.1 kB. A message can have 20 kB at most." in error
    assert not chat.requests.exists()


def test_the_limit_is_in_the_page(web: Client, chat: Conversation) -> None:
    page = Document(web.get("/c/alices-chat/").content)
    assert page.one("form", id="composer").attributes["data-limit"] == str(LIMIT)


@pytest.mark.parametrize("length", [LIMIT + 1, 3_000_000])
def test_without_a_script_all_of_the_text_is_given_back(
    web: Client, chat: Conversation, length: int
) -> None:
    text = ("<b>0123456789</b>\n" * (length // 18 + 1))[:length]
    answer = web.post(SEND, {"text": text.replace("\n", "\r\n"), "client_id": "one"})
    assert answer.status_code == 422
    page = Document(answer.content)
    assert "20 kB at most" in page.one(id="composer-error").text
    assert page.form("/messages/", "text").fields["text"] == text
    assert not chat.requests.exists()


def test_three_megabytes_are_refused_in_words(web: Client, chat: Conversation) -> None:
    answer = web.post(SEND, {"text": "x" * 3_000_000}, headers=HTMX)
    assert answer.status_code == 422
    error = Document(answer.content).one(id="composer-error").text
    assert "This message has 3 MB. A message can have 20 kB at most." in error
    assert "your text is still here" in error


@pytest.fixture
def huge(settings: object) -> bytes:
    """More than the site reads at all."""
    return b"text=" + b"x" * (16 * 2**20)


FORM = "application/x-www-form-urlencoded"


def test_what_is_too_large_to_be_read_is_refused_in_words(
    web: Client, chat: Conversation, huge: bytes
) -> None:
    answer = web.post(SEND, huge, content_type=FORM, headers=HTMX)
    assert answer.status_code == 413
    error = Document(answer.content).one(id="composer-error").text
    assert "a message can have 20 kB at most" in error
    assert not chat.requests.exists()


def test_without_a_script_it_is_refused_on_a_page(
    web: Client, chat: Conversation, huge: bytes
) -> None:
    answer = web.post(SEND, huge, content_type=FORM)
    assert answer.status_code == 413
    assert "A message can hold 20 kB at most. Nothing was sent" in answer.content.decode()
    assert web.post(SEND, {"text": "hello"}).status_code == 303


def test_a_form_that_cannot_be_read_is_refused_on_a_page(web: Client, chat: Conversation) -> None:
    answer = web.post(SEND, b"no parts", content_type="multipart/form-data; boundary=x" + "y" * 300)
    assert answer.status_code == 400
    assert "The request was not understood" in answer.content.decode()


@pytest.mark.parametrize(
    ("used", "words"),
    [(20_001, "20.1 kB"), (20_100, "20.1 kB"), (999_950, "1000 kB"), (1_000_001, "1.1 MB")],
)
def test_a_size_never_looks_smaller_than_it_is(used: int, words: str) -> None:
    assert size(used) == words
