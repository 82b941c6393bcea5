"""Who may open a page's socket; everyone else learns by a close code why not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.link import hub
from chat.models import Conversation
from tests.pages.fake_owner import FakeOwner
from tests.pages.sockets import Socket, on_the_site

SOCKET = "/ws/c/alices-chat/"

type OpenSocket = Callable[..., Socket]
pytestmark = pytest.mark.django_db(transaction=True)


async def test_ones_own_conversation_is_open(
    web: Client, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket
) -> None:
    tab = await open_socket(SOCKET, web).open()
    assert await tab.answers() == []
    assert owner.opened == [chat.pk]
    await tab.leave()
    assert owner.closed == [chat.pk]


async def test_who_is_not_logged_in_is_told_so(
    chat: Conversation, owner: FakeOwner, open_socket: OpenSocket
) -> None:
    tab = await open_socket(SOCKET).open()
    assert await tab.until_closed() == 4401
    assert owner.opened == []


async def test_a_login_that_has_ended_is_none(
    web: Client, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket
) -> None:
    tab = open_socket(SOCKET, web)
    await on_the_site(web.logout)
    await tab.open()
    assert await tab.until_closed() == 4401


BAD_PATHS = (
    *("/ws/c/bobs-chat/", "/ws/c/no-such-chat/", "/ws/c/./", "/ws/c/../", "/ws/c//"),
    *(f"/ws/c/{'x' * 129}/", "/ws/c/josé/", "/ws/c/a\n/", "/ws/c/alices-chat/\n"),
    *("/ws/c/a\x00/", "/ws/c/alices-chat", "/ws/c/alices-chat/x/", "/ws/", "/", "/nowhere/"),
)


async def test_every_other_address_is_no_conversation(
    web: Client, bob: User, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket
) -> None:
    await Conversation.objects.acreate(user=bob, key="bobs-chat")
    for path in BAD_PATHS:
        tab = await open_socket(path, web).open()
        assert await tab.until_closed() == 4404, path
    assert owner.opened == []


async def test_who_is_not_logged_in_learns_of_no_conversation(
    chat: Conversation, owner: FakeOwner, open_socket: OpenSocket
) -> None:
    codes = {
        await (await open_socket(path).open()).until_closed()
        for path in (SOCKET, "/ws/c/no-such-chat/", "/ws/c/./", "/nowhere/")
    }
    assert codes == {4401}


FOREIGN = ("https://evil.example", "http://localhost.evil.example", "null", "x", None)


async def test_c55_another_sites_page_is_refused_with_a_valid_cookie(
    web: Client, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket
) -> None:
    for origin in FOREIGN:
        tab = await open_socket(SOCKET, web, origin=origin).open()
        # A close before the upgrade is a 403 on the wire.
        assert tab.closed_with is not None, origin
        assert tab.received == []
    assert owner.opened == []


@pytest.mark.usefixtures("_fresh_layer")
async def test_a_server_that_ends_asks_the_page_to_come_again(
    web: Client, chat: Conversation, open_socket: OpenSocket
) -> None:
    assert hub.current() is None
    tab = await open_socket(SOCKET, web).open()
    assert await tab.until_closed() == 1011
