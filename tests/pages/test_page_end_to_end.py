"""A page, its socket, the owner and an agent-server together, in one process."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.test import Client
from pytest_django import Settings

from chat.link import hub, lease
from chat.link.layer import MemoryLayer
from chat.link.publisher import group_name
from chat.models import Conversation, Message
from tests.pages.forms import Document
from tests.pages.sockets import Socket, on_the_site
from tests.processes import PATIENCE_S

SOCKET = "/ws/c/alices-chat/"
CHAT = "/c/alices-chat/"
HTMX = {"HX-Request": "true"}

type OpenSocket = Callable[..., Socket]
pytestmark = pytest.mark.django_db(transaction=True)


class Shown:
    """What a page shows that applies all it receives: texts and states by the message's uid."""

    def __init__(self, socket: Socket) -> None:
        self.socket = socket
        self.states: dict[str, str] = {}
        self.blocks: dict[str, str] = {}

    async def until(self, condition: Callable[[Shown], bool]) -> None:
        while not condition(self):
            self._apply(Document(await self.socket.next()))

    def _apply(self, fragment: Document) -> None:
        for element in fragment.elements:
            if uid := element.attributes.get("data-message"):
                self.states[uid] = element.attributes["data-state"]
                own = [name for name in self.blocks if name.startswith(f"b-{uid}-")]
                for name in own:
                    del self.blocks[name]
            if element.attributes.get("class") == "block":
                self.blocks[element.attributes["id"]] = element.text
            if element.attributes.get("data-reset") == "1":
                self.states.clear()
                self.blocks.clear()


def answered(count: int) -> Callable[[Shown], bool]:
    """That many questions and their answers are final."""
    return lambda shown: list(shown.states.values()) == ["final"] * 2 * count


async def saved(web: Client, open_socket: OpenSocket) -> None:
    """Wait until the rows contain all that pages show: what is asked by a new page is from them."""
    tab = await open_socket(SOCKET, web).open()
    await tab.hello()
    await tab.until('id="manifest"')


async def send(web: Client, text: str, client_id: str) -> None:
    data = {"text": text, "client_id": client_id}
    answer = await on_the_site(web.post, f"{CHAT}messages/", data, headers=HTMX)
    assert answer.status_code == 200


async def test_an_answer_comes_to_every_page(
    web: Client, chat: Conversation, serving: hub.Hub, open_socket: OpenSocket
) -> None:
    tabs = [Shown(await open_socket(SOCKET, web).open()) for _ in range(2)]
    for tab in tabs:
        await tab.socket.hello()
        await tab.socket.until('data-state="connected"')
    await send(web, "hello", "one")
    for tab in tabs:
        await tab.until(answered(1))
    assert tabs[0].blocks == tabs[1].blocks
    await saved(web, open_socket)
    stored = [message async for message in Message.objects.order_by("step")]
    assert [message.role for message in stored] == ["user", "agent"]
    assert {message.uid for message in stored} == set(tabs[0].states)


async def test_a_page_that_is_opened_later_shows_the_same(
    web: Client, chat: Conversation, serving: hub.Hub, open_socket: OpenSocket
) -> None:
    tab = Shown(await open_socket(SOCKET, web).open())
    await tab.socket.hello()
    await send(web, "hello", "one")
    await tab.until(answered(1))
    await saved(web, open_socket)
    page = Document((await on_the_site(web.get, CHAT)).content)
    blocks = {e.attributes["id"]: e.text for e in page.all(class_="block")}
    assert blocks == tab.blocks


async def test_a_page_ends_right_although_pushes_are_lost(
    web: Client,
    chat: Conversation,
    serving: hub.Hub,
    open_socket: OpenSocket,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.SESSION_CHECK_S = 0.05
    tab, whole = [Shown(await open_socket(SOCKET, web).open()) for _ in range(2)]
    for each in (tab, whole):
        await each.socket.hello()
        await each.socket.until('data-state="connected"')
    victim = next(iter(get_channel_layer().groups[group_name(chat.pk)]))
    pushes = itertools.count()
    lost: list[dict[str, Any]] = []
    deliver = MemoryLayer.send

    async def lossy(layer: MemoryLayer, channel: str, message: dict[str, Any]) -> None:
        pushed = channel == victim and message["type"] == "page.push"
        if pushed and next(pushes) % 2 == 0:
            lost.append(message)
        else:
            await deliver(layer, channel, message)

    monkeypatch.setattr(MemoryLayer, "send", lossy)
    await send(web, "tell me a story of some words, so that there are some pushes", "one")
    for each in (tab, whole):
        await each.until(answered(1))
    assert lost
    assert tab.blocks == whole.blocks


async def test_a_page_that_leaves_at_once_blocks_nobody(
    web: Client,
    chat: Conversation,
    serving: hub.Hub,
    open_socket: OpenSocket,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may leave while its conversation is just being claimed."""
    claiming, go_on = threading.Event(), threading.Event()
    claim = lease.claim

    def slow_claim(*args: Any) -> int | None:
        claiming.set()
        go_on.wait(PATIENCE_S)
        return claim(*args)

    monkeypatch.setattr(lease, "claim", slow_claim)
    hasty = await open_socket(SOCKET, web).open()
    await hasty.hello()
    await asyncio.to_thread(claiming.wait, PATIENCE_S)
    await hasty.leave()
    go_on.set()
    tab = Shown(await open_socket(SOCKET, web).open())
    await tab.socket.hello()
    await tab.socket.until('data-state="connected"')
    await send(web, "hello", "one")
    await tab.until(answered(1))


async def test_clear_in_one_tab_empties_the_other(
    web: Client, chat: Conversation, serving: hub.Hub, open_socket: OpenSocket
) -> None:
    tab = Shown(await open_socket(SOCKET, web).open())
    await tab.socket.hello()
    await send(web, "hello", "one")
    await tab.until(answered(1))
    await on_the_site(web.post, f"{CHAT}clear/", headers=HTMX)
    await tab.until(lambda shown: not shown.states)
    await send(web, "again", "two")
    await tab.until(answered(1))


async def test_stop_ends_a_request_and_retry_sends_it_again(
    web: Client, chat: Conversation, serving: hub.Hub, open_socket: OpenSocket
) -> None:
    tab = Shown(await open_socket(SOCKET, web).open())
    await tab.socket.hello()
    await tab.socket.until('data-state="connected"')
    await send(web, "@slow 3000", "one")
    await tab.until(lambda shown: "data-stop" in shown.socket.received[-1])
    await on_the_site(web.post, f"{CHAT}stop/", headers=HTMX)
    await tab.until(lambda shown: "cancelled" in shown.states.values())
    await saved(web, open_socket)
    page = Document((await on_the_site(web.get, CHAT)).content)
    form = page.form("/retry/")
    await on_the_site(web.post, form.action, form.fields, headers=HTMX)
    await tab.until(lambda shown: len(shown.states) >= 2)
    await on_the_site(web.post, f"{CHAT}stop/", headers=HTMX)
    assert await chat.requests.filter(text="@slow 3000").acount() == 2
