"""`/` leads to where the user was last, and makes the first conversation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from django.utils.timezone import now

from chat.models import Conversation
from chat.pages.access import newest_conversation
from chat.transcript import store


def test_the_first_visit_makes_a_conversation(web: Client, alice: User) -> None:
    answer = web.get("/")
    made = Conversation.objects.get()
    assert (made.user, made.name) == (alice, "")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/c/{made.key}/")


def test_the_second_visit_finds_it_again(web: Client) -> None:
    assert web.get("/").headers["Location"] == web.get("/").headers["Location"]
    assert Conversation.objects.count() == 1


def test_the_newest_conversation_is_where_something_happened_last(web: Client, alice: User) -> None:
    old = Conversation.objects.create(user=alice, key="old")
    Conversation.objects.create(user=alice, key="new")
    assert web.get("/").headers["Location"] == "/c/new/"
    store.accept(old, "hello", "id")
    assert web.get("/").headers["Location"] == "/c/old/"


def test_others_conversations_do_not_count(web: Client, bob: User) -> None:
    Conversation.objects.create(user=bob, key="bobs", last_activity_at=now() + timedelta(days=1))
    assert web.get("/").headers["Location"] != "/c/bobs/"


@pytest.mark.django_db(transaction=True)
def test_two_first_visits_at_once_make_one_conversation(alice: User) -> None:
    together = Barrier(4)

    def visit() -> str:
        together.wait()
        try:
            return newest_conversation(alice).key
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        keys = {future.result() for future in [pool.submit(visit) for _ in range(4)]}
    assert keys == {Conversation.objects.get().key}
