"""What a page lacks, and what an owner takes up."""

from __future__ import annotations

import pytest

from chat.models import Conversation, Message, RequestState
from chat.transcript import reading, store
from tests.transcript.make import conversation, exchange

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(db: None) -> Conversation:
    return conversation()


def fill(chat: Conversation, exchanges: int) -> None:
    """Answered questions, each at a revision of its own."""
    for number in range(1, exchanges + 1):
        made = exchange(chat)
        Message.objects.filter(request=made).update(revision=number, html="<p>")
    Conversation.objects.filter(pk=chat.pk).update(revision=exchanges)


def test_a_page_gets_what_changed_since(chat: Conversation) -> None:
    fill(chat, 3)
    difference = reading.changed_since(chat.pk, 2)
    assert (difference.revision, difference.reset, len(difference.bubbles)) == (3, False, 2)
    assert len(difference.uids) == 6
    assert not reading.changed_since(chat.pk, 3).bubbles


def test_after_a_clear_a_page_drops_all(chat: Conversation) -> None:
    fill(chat, 2)
    store.clear(chat.pk)
    difference = reading.changed_since(chat.pk, 2)
    assert (difference.reset, difference.uids, difference.first_order) == (True, [], "")
    assert not reading.changed_since(chat.pk, difference.revision).reset


def test_a_page_that_knows_too_much_starts_again(chat: Conversation) -> None:
    fill(chat, 2)
    assert reading.changed_since(chat.pk, 99).reset


def test_a_page_that_starts_again_gets_the_newest(chat: Conversation) -> None:
    fill(chat, 60)
    difference = reading.changed_since(chat.pk, 99)
    assert len(difference.bubbles) == reading.PAGE_SIZE
    assert difference.bubbles[-1].uid == difference.uids[-1]


def test_bubbles_that_show_nothing_are_not_told_of(chat: Conversation) -> None:
    fill(chat, 1)
    Message.objects.filter(role="agent").update(html="")
    assert len(reading.changed_since(chat.pk, 0).uids) == 1


def test_a_window_and_the_ones_before_it(chat: Conversation) -> None:
    fill(chat, 60)
    newest = reading.newest_window(chat)
    assert (len(newest.bubbles), newest.has_earlier) == (reading.PAGE_SIZE, True)
    first = newest.bubbles[0].order
    before = reading.newest_window(chat, (int(first[:12]), int(first[13:])))
    orders = [bubble.order for bubble in before.bubbles + newest.bubbles]
    assert orders == sorted(set(orders))
    assert len(orders) == 100


def test_an_owner_takes_up_what_is_unfinished(chat: Conversation) -> None:
    exchange(chat)
    running = exchange(chat, RequestState.RUNNING)
    (stored,) = reading.unfinished(chat.pk)
    assert stored.request == running
    assert [message.step for message in stored.messages] == [0, 1]
    assert reading.is_running(chat)


def test_requests_are_found_by_their_ids(chat: Conversation) -> None:
    done = exchange(chat)
    wanted = {done.request_id, "unknown"}
    assert reading.known_ids(chat.pk, wanted) == {done.request_id}
    assert [item.request for item in reading.by_request_id(chat.pk, wanted)] == [done]
    assert len(reading.bubbles_of(done)) == 0  # nothing drawn
    assert not reading.known_ids(conversation("bob").pk, wanted)
