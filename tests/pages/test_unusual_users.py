"""C48: whatever a user's name is, they can use all of the site."""

from __future__ import annotations

import asyncio

import pytest

from tests.pages.forms import Document
from tests.pages.visitor import hello, visitors
from tests.processes import PATIENCE_S, Site

NAMES = ("josé@ex.com", "x" * 150, "名前", "a+b-c_d.e@f")


async def test_c48_unusual_names_use_the_whole_site(live: Site) -> None:
    for visitor in await asyncio.to_thread(visitors, live, *NAMES, staff=True):
        page = await asyncio.to_thread(visitor.get, "/")
        assert (page.status, page.url) == (200, live.url + visitor.page)
        async with visitor.socket() as socket, asyncio.timeout(PATIENCE_S):
            await hello(socket)
            sent = await asyncio.to_thread(visitor.send, "@help", "one")
            assert sent.status == 200
            while True:
                fragment = Document(str(await socket.recv()))
                agents = [m for m in fragment.messages if m.attributes["data-role"] == "agent"]
                if any(m.attributes["data-state"] == "final" for m in agents):
                    break
        listed = await asyncio.to_thread(visitor.get, "/admin/chat/conversation/")
        assert listed.status == 200
        assert visitor.key in listed.text


@pytest.mark.parametrize("name", NAMES)
def test_c48_their_name_stands_in_the_menu(client: object, db: None, name: str) -> None:
    from django.contrib.auth.models import User
    from django.test import Client

    from chat.models import Conversation

    browser = Client()
    user = User.objects.create_user(name)
    browser.force_login(user)
    chat = Conversation.objects.create(user=user)
    page = Document(browser.get(f"/c/{chat.key}/").content)
    assert name in page.one("form", data_logout="").text
