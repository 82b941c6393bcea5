"""Pruning erases rows for good: messages, the requests they leave empty, and their way back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from chat.models import Conversation, Message, Request, RequestState, Role
from chat.transcript import retention
from tests.transcript.make import conversation, exchange, message, request

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MONTH = timedelta(days=30)
OLD = NOW - timedelta(days=31)

pytestmark = pytest.mark.django_db


def prune(of: Conversation, max_messages: int = 200) -> int:
    return retention.prune_conversation(of.pk, max_messages=max_messages, max_age=MONTH, now=NOW)


def texts(of: Conversation) -> list[str]:
    return list(of.messages.order_by("seq", "step").values_list("text", flat=True))


def backfill_mark(of: Conversation) -> int:
    return Conversation.objects.get(pk=of.pk).backfill_after_ms


def test_it_keeps_the_newest() -> None:
    alice = conversation()
    kept = [exchange(alice, at=NOW) for _ in range(3)][1:]
    assert prune(alice, max_messages=4) == 2
    assert set(alice.requests.all()) == set(kept)
    assert alice.messages.count() == 4


def test_it_erases_what_is_too_old() -> None:
    alice = conversation()
    exchange(alice, at=OLD)
    kept = exchange(alice, at=NOW)
    assert prune(alice) == 2
    assert list(alice.requests.all()) == [kept]


def test_it_says_so_when_nothing_is_to_do() -> None:
    alice = conversation()
    exchange(alice, at=NOW)
    assert prune(alice) == 0
    assert len(texts(alice)) == 2


def test_a_conversation_that_is_gone_is_nothing_to_do() -> None:
    assert retention.prune_conversation(4711, max_messages=1, max_age=MONTH) == 0


def test_a_conversation_that_goes_meanwhile_is_nothing_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alice = conversation()
    exchange(alice, at=OLD)
    ids = retention.prunable(alice.pk, max_messages=1, max_age=MONTH, now=NOW)
    alice.delete()
    monkeypatch.setattr(retention, "prunable", lambda *_args, **_options: ids)
    assert prune(alice) == 0


def test_the_clock_is_now_when_none_is_given() -> None:
    alice = conversation()
    exchange(alice, at=datetime.now(UTC) - timedelta(days=31))
    exchange(alice)
    assert retention.prune_conversation(alice.pk, max_messages=200, max_age=MONTH) == 2


def test_an_unfinished_request_stays_whole() -> None:
    alice = conversation()
    live = [
        exchange(alice, state, at=OLD)
        for state in (RequestState.PENDING, RequestState.SENT, RequestState.RUNNING)
    ]
    exchange(alice, at=NOW)
    assert prune(alice, max_messages=2) == 0
    assert set(live) <= set(alice.requests.all())


def test_the_question_of_a_kept_answer_stays() -> None:
    alice = conversation()
    asked = request(alice)
    message(asked, Role.USER, at=OLD)
    message(asked, Role.AGENT, step=1, at=NOW)
    assert prune(alice, max_messages=1) == 0
    assert len(texts(alice)) == 2


def test_other_conversations_are_left_alone() -> None:
    alice, bob = conversation("alice"), conversation("bob")
    exchange(alice, at=OLD)
    exchange(bob, at=OLD)
    assert prune(alice) == 2
    assert len(texts(bob)) == 2
    assert bob.requests.count() == 1


def test_a_notice_without_a_request_goes_too() -> None:
    alice = conversation()
    Message.objects.create(
        uid="n", conversation=alice, role=Role.NOTICE, seq=1, revision=1, created_at=OLD
    )
    assert prune(alice) == 1


def test_the_revision_stays_so_that_pages_keep_what_they_show() -> None:
    alice = conversation(revision=7)
    exchange(alice, at=OLD)
    prune(alice)
    alice.refresh_from_db()
    assert (alice.revision, alice.cleared_revision) == (7, 0)


def test_the_backfill_mark_rises_to_the_newest_erased_request() -> None:
    alice = conversation(backfill_after_ms=50)
    for upstream_at_ms in (100, None, 300, 200):
        exchange(alice, at=OLD, upstream_at_ms=upstream_at_ms)
    exchange(alice, at=NOW, upstream_at_ms=400)
    prune(alice)
    assert backfill_mark(alice) == 300


def test_the_backfill_mark_never_falls() -> None:
    alice = conversation(backfill_after_ms=1_800_000_000_000)
    exchange(alice, at=OLD, upstream_at_ms=100)
    prune(alice)
    assert backfill_mark(alice) == 1_800_000_000_000


def test_the_backfill_mark_stays_while_the_request_has_a_message_left() -> None:
    alice = conversation()
    asked = request(alice, upstream_at_ms=100)
    message(asked, Role.USER, at=OLD)
    message(asked, Role.AGENT, step=1, at=OLD)
    message(asked, Role.AGENT, step=2, at=NOW)
    assert prune(alice) == 1
    assert list(alice.requests.all()) == [asked]
    assert backfill_mark(alice) == 0


def test_a_long_backlog_goes_in_bounded_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retention, "ROWS_PER_TRANSACTION", 3)
    sizes: list[int] = []
    erase = retention._erase

    def spy(conversation_id: int, ids: list[int]) -> int:
        sizes.append(len(ids))
        return erase(conversation_id, ids)

    monkeypatch.setattr(retention, "_erase", spy)
    alice = conversation()
    for number in range(4):
        exchange(alice, at=OLD, upstream_at_ms=number)
    assert prune(alice) == 8
    assert sizes == [3, 3, 2]
    assert not Request.objects.exists()
    assert backfill_mark(alice) == 3


def test_all_conversations_are_pruned_whatever_the_batch() -> None:
    several = [conversation(name) for name in ("alice", "bob", "charlie")]
    for each in several:
        exchange(each, at=OLD)
        exchange(each, at=NOW)
    assert retention.prune_all(2, max_messages=200, max_age=MONTH, now=NOW) == 6
    assert [each.requests.count() for each in several] == [1, 1, 1]


def test_a_look_at_a_conversation_in_its_limits_reads_no_messages(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    alice = conversation()
    exchange(alice, at=NOW)
    with django_assert_num_queries(2):
        prune(alice)
