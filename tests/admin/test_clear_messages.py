"""Staff empty a conversation from the admin: after a question, with a permission, on record."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks

from chat.link import hub
from chat.models import Conversation
from tests.transcript.make import conversation, exchange

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse

LIST = "/admin/chat/conversation/"


@pytest.fixture
def pokes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The conversations whose owners were told to look."""
    poked: list[int] = []
    monkeypatch.setattr(hub, "poke_soon", poked.append)
    return poked


@pytest.fixture
def chat(alice: User) -> Conversation:
    made = conversation("alice", revision=7)
    exchange(made)
    return made


def permitted(who: User, *codenames: str) -> User:
    who.is_staff = True
    who.save()
    who.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return who


def choose(
    client: Client, *chosen: Conversation, confirmed: str = ""
) -> _MonkeyPatchedWSGIResponse:
    data = {
        "action": "clear_messages",
        "_selected_action": [each.pk for each in chosen],
        "confirmed": confirmed,
    }
    return client.post(LIST, data)


def test_it_asks_first(client: Client, staff: User, chat: Conversation, pokes: list[int]) -> None:
    client.force_login(staff)
    page = choose(client, chat).content.decode()
    assert "Erase every message" in page
    assert f"{chat.key}, alice:" in page
    assert re.search(rf'name="_selected_action"\s+value="{chat.pk}"', page)
    assert chat.messages.count() == 2
    assert pokes == []


def test_it_clears(
    client: Client,
    staff: User,
    chat: Conversation,
    pokes: list[int],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    other = conversation("bob")
    exchange(other)
    client.force_login(staff)
    with django_capture_on_commit_callbacks(execute=True):
        response = choose(client, chat, confirmed="yes")
    assert (response.status_code, response["Location"]) == (302, LIST)
    assert not chat.messages.exists()
    assert not chat.requests.exists()
    assert other.messages.count() == 2
    chat.refresh_from_db()
    assert chat.cleared_revision == chat.revision > 7


def test_it_tells_the_owner_once_the_rows_are_gone(
    client: Client,
    staff: User,
    chat: Conversation,
    pokes: list[int],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    client.force_login(staff)
    with django_capture_on_commit_callbacks() as callbacks:
        choose(client, chat, confirmed="yes")
    assert pokes == []
    for callback in callbacks:
        callback()
    assert pokes == [chat.pk]


def test_it_clears_several(
    client: Client,
    staff: User,
    chat: Conversation,
    pokes: list[int],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    other = conversation("bob")
    exchange(other)
    client.force_login(staff)
    with django_capture_on_commit_callbacks(execute=True):
        choose(client, chat, other, confirmed="yes")
    assert "Cleared the messages of 2 conversations." in client.get(LIST).content.decode()
    assert not chat.messages.exists()
    assert not other.messages.exists()
    assert sorted(pokes) == sorted([chat.pk, other.pk])


def test_it_is_on_record(client: Client, staff: User, chat: Conversation, pokes: list[int]) -> None:
    client.force_login(staff)
    choose(client, chat, confirmed="yes")
    entry = LogEntry.objects.get()
    assert (entry.user, entry.object_id, entry.action_flag) == (staff, str(chat.pk), CHANGE)
    assert entry.change_message == "Cleared the messages."


def test_asking_is_not_on_record(
    client: Client, staff: User, chat: Conversation, pokes: list[int]
) -> None:
    client.force_login(staff)
    choose(client, chat)
    assert not LogEntry.objects.exists()


def test_it_says_how_many(
    client: Client, staff: User, chat: Conversation, pokes: list[int]
) -> None:
    client.force_login(staff)
    choose(client, chat, confirmed="yes")
    assert "Cleared the messages of 1 conversation." in client.get(LIST).content.decode()


def test_it_requires_permission(
    client: Client, bob: User, chat: Conversation, pokes: list[int]
) -> None:
    client.force_login(permitted(bob, "view_conversation"))
    assert "clear_messages" not in client.get(LIST).content.decode()
    choose(client, chat, confirmed="yes")
    assert chat.messages.count() == 2
    assert pokes == []


def test_the_change_permission_is_enough(
    client: Client, bob: User, chat: Conversation, pokes: list[int]
) -> None:
    client.force_login(permitted(bob, "change_conversation"))
    choose(client, chat, confirmed="yes")
    assert not chat.messages.exists()


def test_it_refuses_staff_without_a_permission(
    client: Client, bob: User, chat: Conversation, pokes: list[int]
) -> None:
    client.force_login(permitted(bob))
    assert choose(client, chat, confirmed="yes").status_code == 403
    assert chat.messages.count() == 2


def test_it_refuses_the_user_and_strangers(
    client: Client, alice: User, bob: User, chat: Conversation, pokes: list[int]
) -> None:
    for who in (None, alice, bob):
        if who is not None:
            client.force_login(who)
        response = choose(client, chat, confirmed="yes")
        assert response.status_code == 302
        assert response["Location"].startswith("/admin/login/")
    assert chat.messages.count() == 2
    assert pokes == []


def test_it_requires_a_csrf_token(staff: User, chat: Conversation, pokes: list[int]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(staff)
    assert choose(client, chat, confirmed="yes").status_code == 403
    assert chat.messages.count() == 2
