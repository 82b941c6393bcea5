"""What an owner writes: fenced by its epoch, and never of what was erased."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils.timezone import now
from pytest_django import Settings

from chat.models import Conversation, Message, MessageState, Origin, Request, RequestState, Role
from chat.transcript import conversations, saving, store
from chat.transcript.saving import Fenced, MessageRow, RequestRow
from tests.transcript.make import conversation, exchange

pytestmark = pytest.mark.django_db

EPOCH = 7


@pytest.fixture
def chat(db: None) -> Conversation:
    return conversation(owner_epoch=EPOCH)


def answer(of: str, html: str = "<p>") -> MessageRow:
    uid = store.message_uid("key", of, 1)
    return MessageRow(uid, of, Role.AGENT, MessageState.STREAMING, 1, html=html)


def test_an_answer_is_written_and_written_again(chat: Conversation) -> None:
    asked = store.accept(chat, "q", "c1")
    own = RequestRow(asked.request_id, RequestState.RUNNING, upstream_at_ms=5)
    first = saving.save(chat.pk, EPOCH, [own], [answer(asked.request_id, "one")], 3)
    second = saving.save(chat.pk, EPOCH, [own], [answer(asked.request_id, "two")], 4)
    asked.refresh_from_db()
    chat.refresh_from_db()
    message = Message.objects.get(role=Role.AGENT)
    assert (first.revision, second.revision, chat.revision) == (2, 3, 3)
    assert (asked.state, asked.upstream_at_ms, chat.history_cursor) == ("running", 5, 4)
    assert (message.html, message.revision, message.seq) == ("two", 3, asked.seq)
    assert second.seqs == {asked.request_id: asked.seq}


def test_a_request_that_was_found_gets_its_place_and_its_question(chat: Conversation) -> None:
    at = now() - timedelta(days=2)
    found = RequestRow("x", RequestState.SENT, origin=Origin.REMOTE, text="theirs", stored=False)
    found.created_at = at
    unasked = RequestRow("agent-1", RequestState.FINAL, origin=Origin.AGENT, stored=False)
    saved = saving.save(chat.pk, EPOCH, [found, unasked], [answer("x"), answer("agent-1")], 0)
    assert saved.seqs == {"x": 1, "agent-1": 2}
    question = Message.objects.get(request__request_id="x", role=Role.USER)
    assert (question.text, question.created_at) == ("theirs", at)
    assert not Message.objects.filter(request__request_id="agent-1", role=Role.USER).exists()
    again = saving.save(chat.pk, EPOCH, [found], [], 0)  # it was not known to have worked
    assert again.seqs == {"x": 1}
    assert Request.objects.count() == 2


def test_the_state_of_a_question_is_written(chat: Conversation) -> None:
    asked = store.accept(chat, "q", "c1")
    uid = store.message_uid(chat.key, asked.request_id, 0)
    row = MessageRow(uid, asked.request_id, Role.USER, MessageState.FAILED, 0, note="Not sent")
    own = RequestRow(asked.request_id, RequestState.FAILED)
    saving.save(chat.pk, EPOCH, [own], [row], 0)
    message = Message.objects.get(uid=uid)
    assert (message.state, message.note, message.text) == ("failed", "Not sent", "q")


def test_c64_what_was_erased_meanwhile_is_named_and_not_written(chat: Conversation) -> None:
    asked = store.accept(chat, "q", "c1")
    store.clear(chat.pk)
    own = RequestRow(asked.request_id, RequestState.RUNNING)
    saved = saving.save(chat.pk, EPOCH, [own], [answer(asked.request_id)], 0)
    assert saved.gone == {asked.request_id}
    assert not Message.objects.exists()
    assert not Request.objects.exists()


def test_who_lost_the_lease_writes_nothing(chat: Conversation) -> None:
    asked = store.accept(chat, "q", "c1")
    own = RequestRow(asked.request_id, RequestState.RUNNING)
    late = EPOCH - 1
    with pytest.raises(Fenced):
        saving.save(chat.pk, late, [own], [answer(asked.request_id)], 9)
    with pytest.raises(Fenced):
        saving.save_cursor(chat.pk, late, 9)
    with pytest.raises(Fenced):
        conversations.set_upstream(chat.pk, late, "u", "name")
    with pytest.raises(Fenced):
        conversations.orphan_transcript(chat.pk, late, "notice")
    with pytest.raises(Fenced):
        conversations.add_notice(chat.pk, late, "notice")
    conversations.set_link_state(chat.pk, late, "joined", "")  # type: ignore[arg-type]
    before = (chat.revision, chat.link_state)
    chat.refresh_from_db()
    asked.refresh_from_db()
    assert (chat.revision, chat.history_cursor, chat.upstream_id) == (1, -1, "")
    assert (before[1], asked.state) == (chat.link_state, "pending")
    assert not Message.objects.exclude(role=Role.USER).exists()


def test_a_log_position_alone_is_not_activity(chat: Conversation) -> None:
    at = now() - timedelta(days=30)
    Conversation.objects.update(last_activity_at=at)
    saving.save_cursor(chat.pk, EPOCH, 12)
    chat.refresh_from_db()
    assert (chat.history_cursor, chat.revision, chat.last_activity_at) == (12, 0, at)


def test_what_is_found_counts_for_retention(chat: Conversation, settings: Settings) -> None:
    settings.CHAT_MAX_MESSAGES = 2
    found = [
        RequestRow(f"x{n}", RequestState.FINAL, origin=Origin.REMOTE, stored=False)
        for n in range(4)
    ]
    saving.save(chat.pk, EPOCH, found, [], 0)
    assert [r.request_id for r in Request.objects.order_by("seq")] == ["x2", "x3"]


def test_the_upstream_id_is_kept_once_per_site(chat: Conversation) -> None:
    other = conversation("alice", upstream_id="u1")
    stranger = conversation("bob", upstream_id="u2")
    assert not conversations.set_upstream(chat.pk, EPOCH, "u1", "n")
    assert not conversations.set_upstream(chat.pk, EPOCH, "u2", "n")
    assert not conversations.set_upstream(chat.pk, EPOCH, "u1", "n", shared=True)
    assert conversations.set_upstream(chat.pk, EPOCH, "u2", "n\x00ame" * 99, shared=True)
    assert conversations.set_upstream(chat.pk, EPOCH, "u3", "name")
    chat.refresh_from_db()
    assert (chat.upstream_id, chat.name) == ("u3", "name")
    assert {other.upstream_id, stranger.upstream_id} == {"u1", "u2"}


def test_a_transcript_without_its_conversation_goes_but_what_waits_stays(
    chat: Conversation,
) -> None:
    exchange(chat)
    exchange(chat, RequestState.SENT)
    Conversation.objects.update(
        upstream_id="dead", history_cursor=9, backfill_after_ms=9, next_seq=10_000
    )
    conversations.add_notice(chat.pk, EPOCH, "older notice")
    waiting = store.accept(chat, "still to send", "c1")
    revision = conversations.orphan_transcript(chat.pk, EPOCH, "It is a new one.")
    chat.refresh_from_db()
    assert (chat.upstream_id, chat.history_cursor, chat.backfill_after_ms) == ("", -1, 0)
    assert chat.cleared_revision == chat.revision == revision
    assert list(Request.objects.all()) == [waiting]
    texts = Message.objects.order_by("seq").values_list("text", "revision")
    assert list(texts) == [("still to send", revision), ("It is a new one.", revision)]


def test_a_notice_is_not_repeated(chat: Conversation) -> None:
    for text in ("too big", "too big", "other", "too big"):
        conversations.add_notice(chat.pk, EPOCH, text)
    assert [m.text for m in Message.objects.order_by("seq")] == ["too big", "other", "too big"]


def test_the_state_of_the_link_is_kept_and_cut_to_size(chat: Conversation) -> None:
    conversations.set_link_state(chat.pk, EPOCH, "lost", "\x00" + "e" * 999)  # type: ignore[arg-type]
    chat.refresh_from_db()
    assert (chat.link_state, chat.link_error) == ("lost", "e" * 300)
