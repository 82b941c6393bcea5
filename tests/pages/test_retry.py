"""Retry sends again what did not end well: once, as a new message, of one's own."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation, RequestState
from tests.pages.forms import Document
from tests.pages.make import ended

RETRY = "/c/alices-chat/retry/"
HTMX = {"HX-Request": "true"}
UNWELL = (RequestState.CANCELLED, RequestState.INTERRUPTED, RequestState.FAILED)
OTHER = (RequestState.PENDING, RequestState.SENT, RequestState.RUNNING, RequestState.FINAL)


@pytest.mark.parametrize("state", UNWELL)
def test_the_page_offers_it_and_it_is_sent_again(
    web: Client, chat: Conversation, state: RequestState
) -> None:
    old = ended(chat, "hello", state)
    form = Document(web.get("/c/alices-chat/").content).form("/retry/")
    answer = web.post(form.action, form.fields)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/c/alices-chat/")
    new = chat.requests.get(state=RequestState.PENDING)
    assert (new.text, new.seq > old.seq) == ("hello", True)
    assert new.request_id != old.request_id


def test_htmx_gets_the_new_bubble(web: Client, chat: Conversation) -> None:
    old = ended(chat, "hello", RequestState.FAILED)
    answer = web.post(RETRY, {"request": old.request_id}, headers=HTMX)
    (bubble,) = Document(answer.content).messages
    new = chat.requests.get(state=RequestState.PENDING)
    assert bubble.attributes["data-request"] == new.request_id


def test_pressed_twice_it_is_sent_once(web: Client, chat: Conversation) -> None:
    old = ended(chat, "hello", RequestState.FAILED)
    answers = [web.post(RETRY, {"request": old.request_id}, headers=HTMX) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == answers[1].content
    assert chat.requests.count() == 2


def test_it_is_offered_once(web: Client, chat: Conversation) -> None:
    old = ended(chat, "hello", RequestState.FAILED)
    web.post(RETRY, {"request": old.request_id})
    page = Document(web.get("/c/alices-chat/").content)
    assert not [form for form in page.forms if form.action.endswith("/retry/")]


def test_a_retry_that_failed_can_be_retried(web: Client, chat: Conversation) -> None:
    old = ended(chat, "hello", RequestState.FAILED)
    web.post(RETRY, {"request": old.request_id})
    second = chat.requests.get(state=RequestState.PENDING)
    chat.requests.filter(pk=second.pk).update(state=RequestState.FAILED)
    web.post(RETRY, {"request": second.request_id})
    assert [request.text for request in chat.requests.all()] == ["hello"] * 3


@pytest.mark.parametrize("state", OTHER)
def test_what_has_not_ended_badly_is_not_sent_again(
    web: Client, chat: Conversation, state: RequestState
) -> None:
    old = ended(chat, "hello", state)
    assert web.post(RETRY, {"request": old.request_id}).status_code == 404
    assert chat.requests.count() == 1


@pytest.mark.parametrize("request_id", ["", "no-such-request", "x" * 300, "\ud83d"])
def test_a_wrong_request_is_not_found(web: Client, chat: Conversation, request_id: str) -> None:
    data = {"request": request_id.encode("utf-8", "replace").decode()}
    assert web.post(RETRY, data).status_code == 404


def test_htmx_is_told_that_there_is_nothing_to_retry(web: Client, chat: Conversation) -> None:
    answer = web.post(RETRY, {"request": "cleared meanwhile"}, headers=HTMX)
    assert answer.status_code == 404
    error = Document(answer.content).one(id="composer-error")
    assert error.text == "There is nothing to retry any more."


def test_a_request_of_another_conversation_is_not_found(
    web: Client, chat: Conversation, bob: User, alice: User
) -> None:
    for user, key in ((bob, "bobs"), (alice, "other")):
        old = ended(Conversation.objects.create(user=user, key=key), "x", RequestState.FAILED)
        assert web.post(RETRY, {"request": old.request_id}).status_code == 404
    assert not chat.requests.exists()
