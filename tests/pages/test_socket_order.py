"""Invariant 3: a page gets every push once and in order, or asks for what it lacks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.test import Client
from pytest_django import Settings

from chat.models import Conversation
from chat.pages import consumers
from tests.pages.fake_owner import FakeOwner
from tests.pages.sockets import Socket

type OpenSocket = Callable[..., Socket]
pytestmark = pytest.mark.django_db(transaction=True)


class Tab:
    """A socket that has said hello and was answered with all up to push 10."""

    def __init__(self, socket: Socket, owner: FakeOwner, chat: Conversation) -> None:
        self.socket, self.owner, self.chat = socket, owner, chat

    async def push(self, html: str, number: int, **fields: int) -> None:
        await self.owner.push(self.chat.pk, html, number=number, **fields)

    async def settled(self) -> list[str]:
        """What came since the last time, when all that was pushed has been seen."""
        await asyncio.sleep(0)  # the push is in the queue; the ping goes behind it
        return await self.socket.answers()


@pytest.fixture
async def tab(web: Client, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket) -> Tab:
    socket = await open_socket("/ws/c/alices-chat/", web).open()
    await socket.hello()
    await owner.answer(1, "start", number=10)
    assert await socket.next() == "start"
    return Tab(socket, owner, chat)


async def test_pushes_come_in_order(tab: Tab) -> None:
    for number in (11, 12, 13):
        await tab.push(f"p{number}", number)
    assert [await tab.socket.next() for _ in range(3)] == ["p11", "p12", "p13"]
    assert len(tab.owner.asked) == 1


async def test_an_old_or_a_double_push_is_dropped(tab: Tab) -> None:
    for number in (9, 10, 11, 11, 3, 12):
        await tab.push(f"p{number}", number)
    assert await tab.socket.next() == "p11"
    assert await tab.socket.next() == "p12"
    assert len(tab.owner.asked) == 1


async def test_a_gap_is_asked_for_and_ends_right(tab: Tab) -> None:
    await tab.push("p11", 11, revision=5)
    await tab.push("p13", 13, revision=6)
    assert await tab.socket.next() == "p11"
    assert (await tab.owner.question(2))[1] == 5
    await tab.owner.answer(2, "all up to 12", number=12, revision=6)
    assert await tab.socket.next() == "all up to 12"
    assert await tab.socket.next() == "p13"


async def test_an_answer_that_contains_the_held_pushes_makes_them_superfluous(tab: Tab) -> None:
    await tab.push("p13", 13)
    await tab.owner.answer(2, "all up to 14", number=14)
    assert await tab.socket.next() == "all up to 14"
    await tab.push("p15", 15)
    assert await tab.socket.next() == "p15"


async def test_an_answer_that_is_too_old_is_not_the_end(tab: Tab) -> None:
    await tab.push("p13", 13)
    await tab.owner.answer(2, "all up to 11", number=11)
    assert await tab.socket.next() == "all up to 11"
    await tab.owner.answer(3, "all up to 13", number=13)
    assert await tab.socket.next() == "all up to 13"


async def test_pushes_wait_while_a_page_is_being_brought_up_to_date(
    web: Client, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket
) -> None:
    socket = await open_socket("/ws/c/alices-chat/", web).open()
    await socket.answers()
    for number in (1, 2, 3):
        await owner.push(chat.pk, f"p{number}", number=number)
    await socket.hello()
    await owner.push(chat.pk, "p4", number=4)
    assert await socket.answers() == []
    await owner.answer(1, "all up to 3", number=3)
    assert await socket.next() == "all up to 3"
    assert await socket.next() == "p4"


async def test_a_second_answer_to_the_same_question_is_dropped(tab: Tab) -> None:
    await tab.owner.answer(1, "again", number=10)
    await tab.push("p11", 11)
    assert await tab.socket.next() == "p11"


async def test_a_page_asks_the_next_owner_when_one_leaves(tab: Tab) -> None:
    await tab.push("p11", 11, revision=4)
    assert await tab.socket.next() == "p11"
    await tab.owner.orphan(tab.chat.pk)
    assert (await tab.owner.question(2))[1] == 4
    await tab.owner.answer(2, "the next owner's", number=0, epoch=2)
    assert await tab.socket.next() == "the next owner's"
    await tab.push("p1", 1, epoch=2)
    assert await tab.socket.next() == "p1"


async def test_the_first_push_of_another_owner_is_a_reason_to_ask(tab: Tab) -> None:
    await tab.push("p1", 1, epoch=2)
    await tab.owner.answer(2, "all of 2", number=1, epoch=2)
    assert await tab.socket.next() == "all of 2"


async def test_a_former_owner_is_not_listened_to(tab: Tab) -> None:
    await tab.owner.orphan(tab.chat.pk)
    await tab.owner.answer(2, "the next owner's", number=3, epoch=2)
    assert await tab.socket.next() == "the next owner's"
    await tab.push("late", 11, epoch=1)
    await tab.push("p4", 4, epoch=2)
    assert await tab.socket.next() == "p4"
    assert len(tab.owner.asked) == 2


async def test_a_question_that_nobody_answers_is_asked_again(
    tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "ATTACH_AGAIN_S", 0.01)
    await tab.owner.orphan(tab.chat.pk)
    await tab.owner.answer(5, "at last", number=1)
    assert "No live updates at the moment" in await tab.socket.next()
    while await tab.socket.next() != "at last":
        pass  # what is stored is looked up meanwhile


async def test_a_late_answer_to_an_earlier_question_does_not_set_the_page_back(tab: Tab) -> None:
    await tab.owner.orphan(tab.chat.pk)
    await tab.owner.answer(2, "newer", number=5, revision=7)
    assert await tab.socket.next() == "newer"
    await tab.push("after a gap", 8)
    await tab.owner.question(3)
    await tab.owner.answer(2, "older", number=4, revision=6)
    await tab.owner.answer(3, "newest", number=8, revision=9)
    assert await tab.socket.next() == "newest"


async def test_a_last_push_that_got_lost_is_noticed_by_the_revision(
    tab: Tab, settings: Settings, web: Client, open_socket: OpenSocket
) -> None:
    settings.SESSION_CHECK_S = 0.01
    other = await open_socket("/ws/c/alices-chat/", web).open()
    await other.hello()
    await tab.owner.answer(2, "start", number=10)
    assert await other.next() == "start"
    await Conversation.objects.aupdate(revision=9)
    await tab.owner.answer(3, "what was lost", number=11, revision=9)
    assert await other.next() == "what was lost"
    await tab.push("p12", 12, revision=9)
    assert await other.next() == "p12"


async def test_no_more_is_held_than_a_page_can_use(tab: Tab) -> None:
    last = 11 + consumers.HELD_MAX * 2
    for number in range(12, last + 1):
        await tab.push(f"p{number}", number)
        await asyncio.sleep(0)
    await tab.owner.answer(2, "some", number=last - 1)
    assert await tab.socket.next() == "some"
    assert await tab.socket.next() == f"p{last}"


async def test_a_browser_that_is_gone_before_it_is_seen_to_be_is_no_fault(
    tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = consumers.PageConsumer.send
    failures = iter([RuntimeError("the transport is closed")])

    async def broken(page: consumers.PageConsumer, html: str) -> None:
        if failure := next(failures, None):
            raise failure
        await send(page, html)

    monkeypatch.setattr(consumers.PageConsumer, "send", broken)
    await tab.push("lost", 11)
    await tab.push("p12", 12)
    assert await tab.socket.next() == "p12"


async def test_a_message_of_an_unknown_kind_is_ignored(tab: Tab) -> None:
    reply_to, _ = await tab.owner.question(1)
    await get_channel_layer().send(reply_to, {"type": "page.something_new", "html": "x"})
    await tab.push("p11", 11)
    assert await tab.socket.next() == "p11"


async def test_a_page_that_has_gone_is_in_no_group(tab: Tab) -> None:
    await tab.socket.leave()
    assert get_channel_layer().groups == {}
    assert tab.owner.closed == [tab.chat.pk]


async def test_a_lost_last_push_is_found_without_another(
    web: Client, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket, settings: Settings
) -> None:
    settings.SESSION_CHECK_S = 0.05
    socket = await open_socket("/ws/c/alices-chat/", web).open()
    await socket.hello()
    await owner.answer(1, "start", number=10)
    assert await socket.next() == "start"
    await asyncio.sleep(0.3)
    assert len(owner.asked) == 1
    owner.newest = 11
    await owner.answer(2, "all", number=11)
    assert await socket.next() == "all"
    await asyncio.sleep(0.3)
    assert len(owner.asked) == 2


async def test_a_page_that_is_sent_to_another_owner_while_it_is_answered_asks_that_one(
    tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = consumers.PageConsumer.page_synced

    async def sent_on_meanwhile(page: consumers.PageConsumer, message: dict[str, Any]) -> None:
        asyncio.get_running_loop().call_soon(page.reattach)  # at the first moment to do so
        await answered(page, message)

    monkeypatch.setattr(consumers.PageConsumer, "page_synced", sent_on_meanwhile)
    await tab.push("p13", 13)
    await tab.owner.answer(2, "all", number=13)
    assert await tab.socket.next() == "all"
    await tab.owner.question(3)


async def test_a_question_that_ends_with_a_fault_is_not_the_last_one(
    web: Client,
    chat: Conversation,
    owner: FakeOwner,
    open_socket: OpenSocket,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.SESSION_CHECK_S = 0.05
    attach, failures = owner.attach, iter([RuntimeError("odd")])

    async def broken(*question: Any) -> None:
        if failure := next(failures, None):
            raise failure
        await attach(*question)

    monkeypatch.setattr(owner, "attach", broken)
    socket = await open_socket("/ws/c/alices-chat/", web).open()
    await socket.hello()
    await owner.answer(1, "start", number=10)
    assert await socket.next() == "start"
