"""Who owns a conversation: on SQLite, and on PostgreSQL through `test_postgresql`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from chat.link import lease
from chat.models import Conversation, LinkState, Process, RequestState
from tests.transcript import make

pytestmark = pytest.mark.django_db(transaction=True)

TTL = timedelta(seconds=6)


@pytest.fixture
def chat(transactional_db: None) -> Conversation:
    return make.conversation()


def process() -> UUID:
    process_id = uuid4()
    lease.register(process_id, f"channel of {process_id}")
    return process_id


def die(process_id: UUID, ago: timedelta = TTL * 2) -> None:
    Process.objects.filter(id=process_id).update(beat_at=Now() - ago)


def owner(chat: Conversation) -> tuple[UUID | None, int]:
    chat.refresh_from_db()
    return chat.owner_id, chat.owner_epoch


def test_of_many_claims_at_once_one_succeeds(chat: Conversation) -> None:
    processes = [process() for _ in range(6)]
    together = Barrier(len(processes))

    def claim(process_id: UUID) -> int | None:
        together.wait()
        try:
            return lease.claim(chat.pk, process_id, TTL)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(processes)) as pool:
        epochs = list(pool.map(claim, processes))
    assert [epoch for epoch in epochs if epoch is not None] == [1]
    assert owner(chat) == (processes[epochs.index(1)], 1)


def test_a_living_owner_is_left_alone(chat: Conversation) -> None:
    first, second = process(), process()
    assert lease.claim(chat.pk, first, TTL) == 1
    assert lease.claim(chat.pk, second, TTL) is None
    assert owner(chat) == (first, 1)


@pytest.mark.parametrize(
    ("ago", "epoch"),
    [
        (TTL - timedelta(seconds=2), None),
        (TTL + timedelta(seconds=1), 2),
        (-timedelta(hours=1), 2),  # the clock was set back since
    ],
)
def test_a_dead_owner_is_taken_over_from(
    chat: Conversation, ago: timedelta, epoch: int | None
) -> None:
    first, second = process(), process()
    lease.claim(chat.pk, first, TTL)
    die(first, ago)
    assert lease.claim(chat.pk, second, TTL) == epoch


def test_a_heartbeat_keeps_an_owner_alive(chat: Conversation) -> None:
    first, second = process(), process()
    lease.claim(chat.pk, first, TTL)
    die(first)
    assert lease.beat(first)
    assert lease.claim(chat.pk, second, TTL) is None


def test_only_the_clock_of_the_database_counts(
    chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = process(), process()
    lease.claim(chat.pk, first, TTL)

    def wrong() -> datetime:
        return datetime(2001, 1, 1, tzinfo=timezone.get_default_timezone())

    for module in ("django.utils.timezone", "chat.models"):
        monkeypatch.setattr(f"{module}.now", wrong)
    assert lease.beat(first)
    assert lease.claim(chat.pk, second, TTL) is None
    assert set(lease.living_owners([chat.pk], TTL)) == {chat.pk}


def test_what_is_ones_own_is_claimed_anew(chat: Conversation) -> None:
    """A link that ended without giving up: its late writes are fenced by the new epoch."""
    mine = process()
    assert [lease.claim(chat.pk, mine, TTL) for _ in range(3)] == [1, 2, 3]


def test_a_release_of_what_somebody_else_has_by_now_changes_nothing(chat: Conversation) -> None:
    first, second = process(), process()
    lease.claim(chat.pk, first, TTL)
    die(first)
    lease.claim(chat.pk, second, TTL)
    lease.release(chat.pk, first, 1)
    assert owner(chat) == (second, 2)
    lease.release(chat.pk, second, 1)
    assert owner(chat) == (second, 2)
    lease.release(chat.pk, second, 2)
    assert owner(chat) == (None, 2)
    assert chat.link_state == LinkState.CLOSED


def test_a_process_that_retires_leaves_all_it_had(chat: Conversation) -> None:
    mine, other = process(), make.conversation("bob")
    lease.claim(chat.pk, mine, TTL)
    lease.claim(other.pk, mine, TTL)
    assert lease.revisions(mine) == {chat.pk: (1, 0), other.pk: (1, 0)}
    lease.retire(mine)
    assert (owner(chat), owner(other)) == ((None, 1), (None, 1))
    assert not Process.objects.exists()


def test_a_process_that_was_forgotten_is_told_and_may_come_back(chat: Conversation) -> None:
    mine = process()
    lease.claim(chat.pk, mine, TTL)
    Process.objects.all().delete()
    assert not lease.beat(mine)
    assert owner(chat) == (None, 1)
    lease.register(mine, "channel")
    assert lease.beat(mine)
    assert lease.claim(chat.pk, mine, TTL) == 2


def test_processes_that_died_long_ago_are_forgotten(chat: Conversation) -> None:
    old, fresh = process(), process()
    lease.claim(chat.pk, old, TTL)
    die(old, timedelta(hours=2))
    die(fresh, timedelta(minutes=2))
    process()
    assert not Process.objects.filter(id=old).exists()
    assert Process.objects.filter(id=fresh).exists()
    assert owner(chat)[0] is None


def test_living_owners_are_told_with_their_channels(chat: Conversation) -> None:
    first, free = process(), make.conversation("bob")
    dead = make.conversation("carol")
    lease.claim(chat.pk, first, TTL)
    gone = process()
    lease.claim(dead.pk, gone, TTL)
    die(gone)
    owners = lease.living_owners([chat.pk, free.pk, dead.pk, 10**9], TTL)
    assert owners == {chat.pk: lease.Owner(first, f"channel of {first}", 1)}


def test_what_a_crash_left_behind_is_found(chat: Conversation) -> None:
    idle = make.conversation("bob")
    make.exchange(idle)
    cared_for, dead = make.conversation("carol"), make.conversation("dan")
    for conversation in (chat, cared_for, dead):
        make.exchange(conversation, RequestState.RUNNING)
    living, gone = process(), process()
    lease.claim(cared_for.pk, living, TTL)
    lease.claim(dead.pk, gone, TTL)
    die(gone)
    assert set(lease.orphans(TTL)) == {chat.pk, dead.pk}


def test_a_conversation_that_does_not_exist_is_not_claimed(chat: Conversation) -> None:
    assert lease.claim(10**9, process(), TTL) is None
