"""Logging in by name and password: back to where one was, and locked after too many tries."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.pages.forms import Document

LOGIN = "/accounts/login/"
GOOD = {"username": "alice", "password": "alice's password"}
BAD = {"username": "alice", "password": "wrong"}


def test_the_right_password_leads_to_the_chat(client: Client, alice: User) -> None:
    answer = client.post(LOGIN, GOOD)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert client.get("/").status_code == 302
    assert client.get("/", follow=True).status_code == 200


def test_it_leads_back_to_where_one_was(client: Client, alice: User) -> None:
    form = Document(client.get(f"{LOGIN}?next=/c/a/%3Fbefore%3D1").content).form("", "username")
    answer = client.post(LOGIN, {**form.fields, **GOOD})
    assert answer.headers["Location"] == "/c/a/?before=1"


@pytest.mark.parametrize("address", ["https://evil.example/", "//evil.example", "javascript:x", ""])
def test_it_leads_to_no_other_site(client: Client, alice: User, address: str) -> None:
    assert client.post(LOGIN, {**GOOD, "next": address}).headers["Location"] == "/"


def test_a_wrong_password_is_said_and_the_name_kept(client: Client, alice: User) -> None:
    answer = client.post(LOGIN, BAD)
    assert answer.status_code == 200
    page = Document(answer.content)
    assert "Please enter a correct username and password." in page.one(role="alert").text
    fields = page.form("", "username").fields
    assert (fields["username"], fields["password"]) == ("alice", "")


@pytest.mark.parametrize("name", ["a\x00", "x" * 151, "nobody", "", "\ufffd"])
def test_an_odd_name_is_refused_in_words(client: Client, db: None, name: str) -> None:
    answer = client.post(LOGIN, {"username": name, "password": "x"})
    assert answer.status_code == 200
    assert Document(answer.content).form("", "username")


def test_who_is_logged_in_goes_on_to_the_chat(web: Client) -> None:
    assert web.get(LOGIN).headers["Location"] == "/"
    assert web.get(f"{LOGIN}?next=/c/a/").headers["Location"] == "/c/a/"


@pytest.mark.parametrize("address", [LOGIN, f"{LOGIN}?next=/", f"http://testserver{LOGIN}"])
def test_who_is_logged_in_is_not_sent_round_in_a_ring(web: Client, address: str) -> None:
    answer = web.get(LOGIN, {"next": address})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")


def test_too_many_tries_lock_the_name_for_a_while(client: Client, alice: User) -> None:
    answers = [client.post(LOGIN, BAD) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    page = Document(client.post(LOGIN, GOOD).content)
    assert page.one("h1").text == "Too many tries"
    assert "Try again in 15 minutes." in page.one("main").text


def test_a_lock_is_for_one_name_only(client: Client, alice: User, bob: User) -> None:
    for _ in range(6):
        client.post(LOGIN, BAD)
    answer = client.post(LOGIN, {"username": "bob", "password": "bob's password"})
    assert answer.status_code == 302


def test_a_success_forgets_the_failures_before(client: Client, alice: User) -> None:
    for _ in range(2):
        for _ in range(5):
            client.post(LOGIN, BAD)
        assert client.post(LOGIN, GOOD).status_code == 302
        client.logout()


def test_a_deactivated_user_cannot_log_in(client: Client, alice: User) -> None:
    User.objects.update(is_active=False)
    assert client.post(LOGIN, GOOD).status_code == 200
