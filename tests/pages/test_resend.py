"""C69: the same message sent twice is one message; two messages of the same text are two."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client

from chat.models import Conversation
from chat.transcript import store
from tests.pages.forms import Document

SEND = "/c/alices-chat/messages/"
HTMX = {"HX-Request": "true"}
SENDERS = 6


def send_at_once(user: User, ids: list[str], text: str) -> list[str]:
    """Send the same text from as many browsers, and give the uids of the bubbles they show."""
    together = Barrier(len(ids))

    def send(client_id: str) -> str:
        client = Client()
        try:
            client.force_login(user)
            together.wait()
            answer = client.post(SEND, {"text": text, "client_id": client_id}, headers=HTMX)
            assert answer.status_code == 200
            (bubble,) = Document(answer.content).messages
            return bubble.attributes["data-message"]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(ids)) as pool:
        return list(pool.map(send, ids))


@pytest.mark.django_db(transaction=True)
def test_c69_the_same_id_in_parallel_is_one_message(alice: User, chat: Conversation) -> None:
    uids = send_at_once(alice, ["same"] * SENDERS, "ok")
    assert len(set(uids)) == 1
    assert chat.requests.count() == chat.messages.count() == 1


@pytest.mark.django_db(transaction=True)
def test_c69_the_same_text_with_two_ids_is_two_messages(alice: User, chat: Conversation) -> None:
    uids = send_at_once(alice, [f"id-{number}" for number in range(SENDERS)], "ok")
    assert len(set(uids)) == chat.requests.count() == chat.messages.count() == SENDERS
    seqs = list(chat.requests.order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, SENDERS + 1))


def test_c69_sent_again_later_it_gives_the_first_message(web: Client, chat: Conversation) -> None:
    data = {"text": "ok", "client_id": "same"}
    first, second = (web.post(SEND, data, headers=HTMX) for _ in range(2))
    assert first.status_code == second.status_code == 200
    bubbles = [Document(answer.content).messages[0].attributes for answer in (first, second)]
    assert bubbles[0] == bubbles[1]
    assert chat.requests.count() == 1


def test_c69_ok_twice_on_purpose_is_two_messages(web: Client, chat: Conversation) -> None:
    for client_id in ("one", "two"):
        web.post(SEND, {"text": "ok", "client_id": client_id}, headers=HTMX)
    assert [request.text for request in chat.requests.all()] == ["ok", "ok"]


def test_an_id_counts_in_its_own_conversation_only(
    web: Client, chat: Conversation, alice: User
) -> None:
    other = Conversation.objects.create(user=alice, key="other")
    for address in (SEND, "/c/other/messages/"):
        web.post(address, {"text": "ok", "client_id": "same"}, headers=HTMX)
    assert chat.requests.count() == other.requests.count() == 1


def test_another_text_under_a_used_id_is_not_lost(web: Client, chat: Conversation) -> None:
    """The Back button brings back a page whose id was used, when there is no script."""
    for text in ("first", "second", "second"):
        web.post(SEND, {"text": text, "client_id": "x" * 64})
    assert [request.text for request in chat.requests.order_by("seq")] == ["first", "second"]


def test_an_answer_that_has_begun_is_not_shown_from_the_rows(
    web: Client, chat: Conversation
) -> None:
    """Its rows may be older than what the socket has brought."""
    request = store.accept(chat, "ok", "same")
    chat.messages.create(
        uid="answer", request=request, role="agent", seq=request.seq, step=1, html="x", revision=2
    )
    answer = web.post(SEND, {"text": "ok", "client_id": "same"}, headers=HTMX)
    assert [m.attributes["data-role"] for m in Document(answer.content).messages] == ["user"]
