"""The other buttons of a page: Stop, Clear chat, Retry of the connection."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation, RequestState
from chat.pages import views
from chat.transcript import store
from tests.pages.forms import Document
from tests.pages.make import ended, fill

CHAT = "/c/alices-chat/"
HTMX = {"HX-Request": "true"}

type Pokes = list[tuple[object, ...]]


@pytest.fixture
def pokes(monkeypatch: pytest.MonkeyPatch) -> Pokes:
    """What the owner was told."""
    told: Pokes = []
    poke: Callable[..., None] = lambda *args: told.append(args)  # noqa: E731
    monkeypatch.setattr(views, "poke_soon", poke)
    return told


def test_stop_asks_for_the_end_of_what_runs(web: Client, chat: Conversation, pokes: Pokes) -> None:
    running = ended(chat, "running", RequestState.RUNNING)
    waiting = ended(chat, "waiting", RequestState.SENT)
    answer = web.post(f"{CHAT}stop/", headers=HTMX)
    assert (answer.status_code, answer.content) == (200, b"")
    for request in (running, waiting):
        request.refresh_from_db()
    assert (running.stop_requested, waiting.stop_requested) == (True, False)
    assert running.state == RequestState.RUNNING
    assert pokes == [(chat.pk,)]


def test_stop_of_one_request_leaves_the_others(web: Client, chat: Conversation) -> None:
    requests = [ended(chat, text, RequestState.SENT) for text in ("a", "b")]
    web.post(f"{CHAT}stop/", {"request": requests[1].request_id})
    asked = chat.requests.filter(stop_requested=True)
    assert [request.pk for request in asked] == [requests[1].pk]


def test_stop_with_nothing_to_stop_is_no_error(web: Client, chat: Conversation) -> None:
    ended(chat, "done", RequestState.FINAL)
    answer = web.post(f"{CHAT}stop/")
    assert (answer.status_code, answer.headers["Location"]) == (303, CHAT)
    assert not chat.requests.filter(stop_requested=True).exists()


@pytest.mark.parametrize("state", RequestState)
def test_the_page_offers_stop_while_something_is_under_way(
    web: Client, chat: Conversation, state: RequestState
) -> None:
    ended(chat, "hello", state)
    page = Document(web.get(CHAT).content)
    running = page.one(id="running").attributes["data-running"]
    offered = any("data-stop" in element.attributes for element in page.elements)
    expected = state in (RequestState.PENDING, RequestState.SENT, RequestState.RUNNING)
    assert (running == "1", offered) == (expected, expected)


@pytest.mark.parametrize("state", RequestState)
def test_clear_empties_the_conversation_in_every_state(
    web: Client, chat: Conversation, pokes: Pokes, state: RequestState
) -> None:
    ended(chat, "hello", state)
    answer = web.post(f"{CHAT}clear/", headers=HTMX)
    assert answer.status_code == 200
    manifest = Document(answer.content).one(id="manifest").attributes
    assert (manifest["data-uids"], manifest["data-reset"]) == ("", "1")
    assert manifest["hx-swap-oob"] == "manifest:#transcript"
    assert not chat.messages.exists()
    assert not chat.requests.exists()
    assert pokes == [(chat.pk,)]


def test_clear_keeps_the_conversation(web: Client, chat: Conversation) -> None:
    Conversation.objects.update(upstream_id="u", name="Mine")
    fill(chat, 3)
    answer = web.post(f"{CHAT}clear/")
    assert (answer.status_code, answer.headers["Location"]) == (303, CHAT)
    chat.refresh_from_db()
    assert (chat.upstream_id, chat.name) == ("u", "Mine")
    page = Document(web.get(CHAT).content)
    assert page.messages == []
    assert page.one("h1").text == "Mine"


def test_clear_of_an_empty_conversation_is_no_error(web: Client, chat: Conversation) -> None:
    assert web.post(f"{CHAT}clear/").status_code == 303


def test_clear_leaves_other_conversations(web: Client, chat: Conversation, bob: User) -> None:
    other = Conversation.objects.create(user=bob)
    store.accept(other, "hello", "one")
    web.post(f"{CHAT}clear/")
    assert other.messages.count() == 1


def test_after_clear_one_can_go_on(web: Client, chat: Conversation) -> None:
    fill(chat, 3)
    web.post(f"{CHAT}clear/")
    web.post(f"{CHAT}messages/", {"text": "again", "client_id": "one"})
    assert [message.text for message in chat.messages.all()] == ["again"]


def test_retry_of_the_connection_tells_the_owner(
    web: Client, chat: Conversation, pokes: Pokes
) -> None:
    answer = web.post(f"{CHAT}reconnect/", headers=HTMX)
    assert (answer.status_code, answer.content) == (204, b"")
    answer = web.post(f"{CHAT}reconnect/")
    assert (answer.status_code, answer.headers["Location"]) == (303, CHAT)
    assert pokes == [(chat.pk, "owner.retry")] * 2
