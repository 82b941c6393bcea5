"""Accepting, stopping and clearing: what the pages write."""

from __future__ import annotations

import time

import pytest
from django.utils.timezone import now

from chat.models import Conversation, Message, Request, RequestState
from chat.transcript import reading, store
from tests.transcript.make import conversation, exchange, request

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(db: None) -> Conversation:
    return conversation()


def test_what_is_accepted_is_stored_with_its_bubble(chat: Conversation) -> None:
    accepted = store.accept(chat, "hello <b>", "client-1")
    message = Message.objects.get(request=accepted)
    assert (accepted.state, accepted.text, accepted.client_id) == (
        "pending",
        "hello <b>",
        "client-1",
    )
    assert (message.role, message.state, message.seq, message.step) == ("user", "pending", 1, 0)
    assert "hello &lt;b&gt;" in message.html
    chat.refresh_from_db()
    assert (chat.revision, chat.next_seq, message.revision) == (1, 2, 1)


def test_c69_the_same_id_again_gives_the_first_request(chat: Conversation) -> None:
    first = store.accept(chat, "ok", "client-1")
    assert store.accept(chat, "other", "client-1") == first
    assert store.accept(chat, "ok", "client-2") != first
    assert Message.objects.count() == 2


def test_c59_nul_and_lone_surrogates_are_cleaned(chat: Conversation) -> None:
    assert store.accept(chat, "a\x00b\ud800", "client-1").text == "ab\ufffd"


def test_a_retry_marks_what_it_repeats(chat: Conversation) -> None:
    old = exchange(chat, RequestState.FAILED)
    before = chat.revision
    store.accept(chat, "again", "retry-1", retry_of=old.request_id)
    old.refresh_from_db()
    chat.refresh_from_db()
    assert old.retried
    assert chat.revision == before + 1
    assert {m.revision for m in Message.objects.all()} == {chat.revision}


def test_stop_asks_for_the_end_of_what_runs(chat: Conversation) -> None:
    running, waiting = request(chat, RequestState.RUNNING), request(chat, RequestState.SENT)
    assert store.request_stop(chat) == 1
    running.refresh_from_db()
    waiting.refresh_from_db()
    assert (running.stop_requested, waiting.stop_requested) == (True, False)


def test_stop_with_nothing_running_ends_all_that_waits(chat: Conversation) -> None:
    request(chat, RequestState.SENT), request(chat, RequestState.PENDING), request(chat)
    assert store.request_stop(chat) == 2
    chat.refresh_from_db()
    assert chat.revision == 1


def test_stop_can_name_a_request_and_may_find_nothing(chat: Conversation) -> None:
    wanted = request(chat, RequestState.SENT)
    request(chat, RequestState.RUNNING)
    assert store.request_stop(chat, wanted.request_id) == 1
    assert store.request_stop(chat, "unknown") == 0
    assert list(Request.objects.filter(stop_requested=True)) == [wanted]


def test_clear_erases_all_and_keeps_the_conversation(chat: Conversation) -> None:
    exchange(chat)
    exchange(chat, RequestState.RUNNING)
    before = int(time.time() * 1000)
    assert store.clear(chat.pk) == 1
    chat.refresh_from_db()
    assert not Message.objects.exists()
    assert not Request.objects.exists()
    assert (chat.revision, chat.cleared_revision) == (1, 1)
    assert chat.backfill_after_ms >= before


def test_the_clear_mark_knows_a_clock_that_is_ahead_and_never_goes_back(
    chat: Conversation,
) -> None:
    ahead = int(now().timestamp() * 1000) + 3_600_000
    exchange(chat, upstream_at_ms=ahead)
    store.clear(chat.pk)
    store.clear(chat.pk)
    assert reading.backfill_mark(chat.pk) == ahead


def test_bubbles_of_one_name_are_one_bubble() -> None:
    assert store.message_uid("k", "r", 1) == store.message_uid("k", "r", 1)
    names = {store.message_uid(*parts) for parts in [("k", "r", 1), ("k", "r", 2), ("k", "s", 1)]}
    assert len(names) == 3
    assert store.message_uid("k", "\ud800", 1)
