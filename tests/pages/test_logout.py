"""C54: the end of a login ends what was open under it, at once or at the next check."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.test import Client
from pytest_django import Settings

from chat.models import Conversation
from chat.pages import consumers
from tests.pages.fake_owner import FakeOwner
from tests.pages.forms import Document
from tests.pages.sockets import Socket, on_the_site

SOCKET = "/ws/c/alices-chat/"
LOGOUT = "/accounts/logout/"

type OpenSocket = Callable[..., Socket]
in_threads = pytest.mark.django_db(transaction=True)


def test_it_leads_to_the_log_in(web: Client) -> None:
    answer = web.post(LOGOUT)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/accounts/login/")
    assert web.get("/").headers["Location"].startswith("/accounts/login/")


def test_it_is_no_address_to_visit(web: Client) -> None:
    assert web.get(LOGOUT).status_code == web.head(LOGOUT).status_code == 405
    assert web.get("/").headers["Location"].startswith("/c/")


def test_who_is_not_logged_in_may_log_out(client: Client, db: None) -> None:
    assert client.post(LOGOUT).status_code == 302


def test_the_page_has_a_form_for_it(web: Client, chat: Conversation) -> None:
    form = Document(web.get("/c/alices-chat/").content).form("/logout/")
    assert (form.action, form.method) == (LOGOUT, "post")


def test_nothing_of_the_login_is_left(web: Client) -> None:
    key = web.session.session_key
    web.post(LOGOUT)
    assert not Session.objects.filter(session_key=key).exists()


@in_threads
async def test_c54_a_log_out_in_one_tab_closes_the_others(
    web: Client, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket
) -> None:
    tabs = [await open_socket(SOCKET, web).open() for _ in range(2)]
    for tab in tabs:
        await tab.answers()
    await on_the_site(web.post, LOGOUT)
    assert [await tab.until_closed() for tab in tabs] == [4401, 4401]


@in_threads
async def test_c54_a_form_of_an_old_tab_is_refused_afterwards(
    web: Client, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket
) -> None:
    old = Client()
    old.cookies["sessionid"] = str(web.session.session_key)
    tab = await open_socket(SOCKET, web).open()
    await on_the_site(web.post, LOGOUT)
    await tab.until_closed()
    answer = await on_the_site(
        old.post, "/c/alices-chat/messages/", {"text": "hello"}, headers={"HX-Request": "true"}
    )
    assert answer.status_code == 401
    assert await chat.requests.acount() == 0


@in_threads
async def test_c54_the_login_has_ended_when_its_tabs_are_told(
    web: Client,
    chat: Conversation,
    owner: FakeOwner,
    open_socket: OpenSocket,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[bool] = []

    def told(key: str | None) -> None:
        seen.append(Session.objects.filter(session_key=key).exists())

    monkeypatch.setattr("chat.pages.accounts.close_sockets_of", told)
    await on_the_site(web.post, LOGOUT)
    assert seen == [False]


@in_threads
async def test_c54_the_same_user_stays_logged_in_elsewhere(
    web: Client, alice: User, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket
) -> None:
    phone = Client()
    await on_the_site(phone.force_login, alice)
    here, there = [await open_socket(SOCKET, client).open() for client in (web, phone)]
    await there.answers()
    await on_the_site(web.post, LOGOUT)
    assert await here.until_closed() == 4401
    assert await there.answers() == []
    assert there.closed_with is None


@in_threads
async def test_c54_another_users_link_in_the_same_browser_closes_the_tabs(
    web: Client, bob: User, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket
) -> None:
    from sesame.utils import get_query_string

    tab = await open_socket(SOCKET, web).open()
    await tab.answers()
    await on_the_site(web.get, "/accounts/one-time/" + get_query_string(bob))
    assert await tab.until_closed() == 4401


def _expire(user: User) -> None:
    Session.objects.update(expire_date="2020-01-01T00:00:00Z")


def _deactivate(user: User) -> None:
    User.objects.update(is_active=False)


def _delete(user: User) -> None:
    user.delete()


def _change_password(user: User) -> None:
    user.set_password("new")
    user.save()


@in_threads
@pytest.mark.parametrize("end", [_expire, _deactivate, _delete, _change_password])
async def test_c54_a_login_that_ends_by_itself_closes_its_tabs(
    web: Client,
    alice: User,
    chat: Conversation,
    owner: FakeOwner,
    open_socket: OpenSocket,
    settings: Settings,
    end: Callable[[User], None],
) -> None:
    settings.SESSION_CHECK_S = 0.01
    tab = await open_socket(SOCKET, web).open()
    await tab.answers()
    await on_the_site(end, alice)
    assert await tab.until_closed() == 4401


@in_threads
async def test_a_conversation_that_is_deleted_closes_its_tabs(
    web: Client,
    chat: Conversation,
    owner: FakeOwner,
    open_socket: OpenSocket,
    settings: Settings,
) -> None:
    settings.SESSION_CHECK_S = 0.01
    tab = await open_socket(SOCKET, web).open()
    await tab.answers()
    await on_the_site(chat.delete)
    assert await tab.until_closed() == 4404


@in_threads
async def test_c54_a_check_that_fails_is_not_the_last_one(
    web: Client,
    alice: User,
    chat: Conversation,
    owner: FakeOwner,
    open_socket: OpenSocket,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.SESSION_CHECK_S = 0.01
    tab = await open_socket(SOCKET, web).open()
    await tab.answers()
    failures = iter([OperationalError("away"), RuntimeError("odd")])

    def check(scope: object) -> bool:
        if failure := next(failures, None):
            raise failure
        return False

    monkeypatch.setattr(consumers, "still_signed_in", check)
    assert await tab.until_closed() == 4401
    assert next(failures, None) is None
