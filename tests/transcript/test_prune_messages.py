"""`manage.py prune_messages`: erases, or only says what it would erase, in one line."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils.timezone import now
from pytest_django import Settings

from chat.models import Conversation, Message
from tests.transcript.make import conversation, exchange

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _limits(settings: Settings) -> None:
    settings.CHAT_MAX_MESSAGES = 4
    settings.CHAT_MAX_AGE_DAYS = 30


def run(*options: str) -> str:
    out = StringIO()
    call_command("prune_messages", *options, stdout=out)
    return out.getvalue()


def with_backlog(username: str) -> Conversation:
    """A conversation with one exchange that is too old and one too many."""
    made = conversation(username)
    exchange(made, at=now() - timedelta(days=31))
    for _ in range(3):
        exchange(made)
    return made


def test_it_prunes() -> None:
    alice, bob = with_backlog("alice"), with_backlog("bob")
    assert run() == (
        "Erased 8 messages (kept of each conversation: the newest 4, up to 30 days old).\n"
    )
    assert alice.messages.count() == bob.messages.count() == 4


def test_a_second_run_has_nothing_to_do() -> None:
    with_backlog("alice")
    run()
    assert run().startswith("Erased 0 messages (")


def test_a_dry_run_erases_nothing() -> None:
    alice = with_backlog("alice")
    assert run("--dry-run").startswith("Would erase 4 messages (")
    assert alice.messages.count() == 8


def test_it_prunes_one_conversation() -> None:
    alice, bob = with_backlog("alice"), with_backlog("bob")
    assert run("--conversation", bob.key).startswith("Erased 4 messages (")
    assert (alice.messages.count(), bob.messages.count()) == (8, 4)


def test_an_unknown_conversation_is_an_error() -> None:
    with_backlog("alice")
    with pytest.raises(CommandError, match="No conversation has the key 'nobody'"):
        run("--conversation", "nobody")
    assert Message.objects.count() == 8


def test_one_message_is_told_in_the_singular(settings: Settings) -> None:
    alice = conversation("alice")
    exchange(alice)
    settings.CHAT_MAX_MESSAGES = 0
    alice.messages.filter(step=1).delete()
    assert run().startswith("Erased 1 message (")
