"""The link that logs in once, within ten minutes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from sesame.utils import get_query_string

from tests.pages.forms import Document

LINK = "/accounts/one-time/"


def link(user: User) -> str:
    return f"{LINK}{get_query_string(user)}"


def user_of(client: Client) -> str | None:
    return client.session.get("_auth_user_id")


def test_it_logs_in_and_leads_to_the_chat(client: Client, alice: User) -> None:
    answer = client.get(link(alice))
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert user_of(client) == str(alice.pk)


def test_it_works_once(client: Client, alice: User) -> None:
    address = link(alice)
    client.get(address)
    late = Client()
    answer = late.get(address)
    assert answer.status_code == 403
    page = Document(answer.content)
    assert page.one("h1").text == "This link no longer works"
    assert page.one("a", class_="button").attributes["href"] == "/accounts/login/"
    assert user_of(late) is None


def test_it_expires(client: Client, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    address = link(alice)
    later = timezone.now().timestamp() + timedelta(minutes=11).total_seconds()
    monkeypatch.setattr("time.time", lambda: later)
    assert client.get(address).status_code == 403


@pytest.mark.parametrize("method", ["head", "post", "options"])
def test_only_opening_it_uses_it_up(client: Client, alice: User, method: str) -> None:
    address = link(alice)
    assert getattr(client, method)(address).status_code in (200, 405)
    assert user_of(client) is None
    assert client.get(address).status_code == 302


@pytest.mark.parametrize("token", ["", "x", "%00", "%ED%A0%80", "A" * 40, "=" * 30, "🙂"])
def test_a_wrong_link_is_refused(client: Client, db: None, token: str) -> None:
    assert client.get(f"{LINK}?sesame={token}").status_code == 403
    assert client.get(LINK).status_code == 403


def test_a_link_that_was_tampered_with_is_refused(client: Client, alice: User) -> None:
    address = link(alice)
    changed = address[:-1] + ("A" if address[-1] != "A" else "B")
    assert client.get(changed).status_code == 403


def test_used_links_lock_nobody_out(client: Client, alice: User) -> None:
    address = link(alice)
    client.get(address)
    other = Client()
    for _ in range(8):
        assert other.get(address).status_code == 403
    alice.refresh_from_db()
    assert other.get(link(alice)).status_code == 302


def test_a_deactivated_user_cannot_use_it(client: Client, alice: User) -> None:
    address = link(alice)
    User.objects.update(is_active=False)
    assert client.get(address).status_code == 403


def test_who_is_logged_in_stays_so_and_uses_it_up(web: Client, alice: User) -> None:
    alice.refresh_from_db()
    before, address = web.session.session_key, link(alice)
    assert web.get(address).status_code == 302
    assert web.session.session_key == before
    assert Client().get(address).status_code == 403


def test_who_is_logged_in_goes_to_the_chat_by_an_old_link_too(web: Client, alice: User) -> None:
    answer = web.get(f"{LINK}?sesame=used")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")


def test_it_changes_the_user(web: Client, alice: User, bob: User) -> None:
    web.session["secret"] = "alice's"
    before = str(web.session.session_key)
    web.get(link(bob))
    assert user_of(web) == str(bob.pk)
    assert web.session.session_key != before
    assert not web.session.exists(before)
