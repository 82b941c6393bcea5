"""The admin shows how conversations stand, never what is in them, and changes nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.timezone import now

from chat.models import Conversation, LinkState
from tests.transcript.make import conversation, exchange

LIST = "/admin/chat/conversation/"


@pytest.fixture(autouse=True)
def _staff(client: Client, staff: User) -> None:
    client.force_login(staff)


def listed(client: Client, query: str = "") -> list[str]:
    """The keys in the list, in order."""
    page = client.get(LIST + query)
    assert page.status_code == 200
    return [each.key for each in page.context["cl"].result_list]


def quiet_for(days: float, username: str = "alice") -> str:
    """The key of a conversation in which nothing happened for so long."""
    return conversation(username, last_activity_at=now() - timedelta(days=days)).key


def test_the_list_says_whose_how_many_when_and_how(client: Client) -> None:
    chat = conversation("alice", link_state=LinkState.LOST)
    exchange(chat)
    exchange(chat)
    conversation("bob")
    (row,) = [each for each in client.get(LIST).context["cl"].result_list if each == chat]
    page = client.get(LIST).content.decode()
    assert row.message_count == 4
    assert '<td class="field-message_count">4</td>' in page
    assert '<td class="field-message_count">0</td>' in page
    assert '<td class="field-user nowrap">alice</td>' in page
    assert '<td class="field-link_state">Lost</td>' in page
    assert "field-last_activity_at" in page


def test_the_most_recent_comes_first(client: Client) -> None:
    keys = [quiet_for(days) for days in (3, 1, 2)]
    assert listed(client) == [keys[1], keys[2], keys[0]]


def test_conversations_can_be_ordered_by_their_messages(client: Client) -> None:
    few, many = conversation("alice"), conversation("bob")
    exchange(few)
    exchange(many)
    exchange(many)
    column = "?o=-3"
    assert listed(client, column) == [many.key, few.key]


@pytest.mark.parametrize(("days", "count"), [(7, 3), (30, 2), (90, 1)])
def test_it_filters_by_how_long_nothing_happened(client: Client, days: int, count: int) -> None:
    keys = [quiet_for(age) for age in (6.9, 7.1, 30.1, 90.1)]
    assert sorted(listed(client, f"?stale={days}")) == sorted(keys[-count:])


@pytest.mark.parametrize("value", ["", "0", "8", "x", "-7", "²"])
def test_an_odd_filter_shows_all(client: Client, value: str) -> None:
    keys = [quiet_for(age) for age in (0, 99)]
    assert listed(client, f"?stale={value}") == keys


def test_it_finds_by_user_and_by_key(client: Client) -> None:
    alice, bob = conversation("alice", key="abc"), conversation("bob", key="xyz")
    assert listed(client, "?q=bob") == [bob.key]
    assert listed(client, "?q=abc") == [alice.key]


def test_c59_a_search_for_nul_finds_nothing_and_breaks_nothing(client: Client) -> None:
    conversation("alice")
    assert client.get(LIST, {"q": "\x00"}).status_code == 200


def test_no_text_and_no_upstream_id_is_shown(client: Client) -> None:
    chat = conversation("alice", upstream_id="1b2c-upstream")
    exchange(chat)
    chat.messages.update(text="a secret", html="<p>a secret</p>", note="a secret")
    chat.requests.update(text="a secret", reason="a secret")
    pages = [
        client.get(LIST),
        client.get(f"{LIST}{chat.pk}/change/"),
        client.get(f"{LIST}{chat.pk}/history/"),
        client.post(LIST, {"action": "clear_messages", "_selected_action": [chat.pk]}),
    ]
    for page in pages:
        assert page.status_code == 200
        assert "a secret" not in page.content.decode()
        assert "1b2c-upstream" not in page.content.decode()


def test_a_conversation_can_be_looked_at_but_not_changed(client: Client) -> None:
    chat = conversation("alice", key="abc")
    page = client.get(f"{LIST}{chat.pk}/change/")
    assert page.status_code == 200
    assert 'name="_save"' not in page.content.decode()
    assert client.post(f"{LIST}{chat.pk}/change/", {"key": "stolen"}).status_code == 403
    assert Conversation.objects.get().key == "abc"


def test_a_conversation_cannot_be_added_or_deleted_by_itself(client: Client) -> None:
    chat = conversation("alice")
    assert client.get(f"{LIST}add/").status_code == 403
    assert client.post(f"{LIST}{chat.pk}/delete/", {"post": "yes"}).status_code == 403
    client.post(LIST, {"action": "delete_selected", "_selected_action": [chat.pk], "post": "yes"})
    assert Conversation.objects.count() == 1


def test_a_user_can_be_deleted_with_their_conversations(client: Client) -> None:
    chat = conversation("alice")
    exchange(chat)
    client.post(f"/admin/auth/user/{chat.user_id}/delete/", {"post": "yes"})
    assert not User.objects.filter(username="alice").exists()
    assert not Conversation.objects.exists()
