"""C52: nothing that a page could send closes its socket or harms anyone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from chat.models import Conversation
from tests.pages.fake_owner import FakeOwner
from tests.pages.forms import Document
from tests.pages.sockets import Socket

type OpenSocket = Callable[..., Socket]
pytestmark = pytest.mark.django_db(transaction=True)

JUNK = [
    *("not json", "null", "[]", "[1]", "1", '"type"', "true", "{}", "{", "NaN", "\x00", "\ufeff{}"),
    *('{"type":42}', '{"type":null}', '{"type":["hello"]}', '{"type":{}}', '{"type":"shout"}'),
    *('{"type":"page.signed_out"}', '{"type":"hello "}', '{"hello":1}', '{"type":"\\ud800"}'),
    *("[" * 100_000, '{"a":' * 50_000, "x" * 2_000_000, '{"type":"x","a":' + "9" * 5_000 + "}"),
]
NUMBERS: list[tuple[object, str]] = [
    (7, "7"),
    ("", ""),
    ('"><script>alert(1)</script>', '"><script>alert(1)</'),
    ("a\x00b", "ab"),
    ("\ud800", "\ufffd"),
    ("x" * 1000, "x" * 20),
    (None, "None"),
    ([1], "[1]"),
]
BAD_REVISIONS: list[object] = [
    *(-1, 2**63, 10**400, 1.5, "3", None, [], {}, False, 10**9),
]


@pytest.fixture
async def tab(web: Client, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket) -> Socket:
    return await open_socket("/ws/c/alices-chat/", web).open()


async def test_c52_junk_is_ignored(tab: Socket, owner: FakeOwner) -> None:
    for junk in JUNK:
        await tab.say_text(junk)
        assert await tab.answers() == [], junk[:50]
    assert owner.asked == []


async def test_c52_bytes_are_ignored(tab: Socket, owner: FakeOwner) -> None:
    for data in (b"\x00", b"\xff\xfe", b'{"type":"hello"}', b"x" * 2_000_000):
        await tab.say_bytes(data)
        assert await tab.answers() == []
    assert owner.asked == []


async def test_a_page_with_no_true_revision_is_given_everything(
    tab: Socket, owner: FakeOwner
) -> None:
    for number, revision in enumerate(BAD_REVISIONS, 1):
        await tab.hello(revision)
        assert (await owner.question(number))[1] == 0
        await owner.answer(number, "all", number=0, revision=0)
        assert await tab.next() == "all"


async def test_a_hello_without_a_revision_is_given_everything(
    tab: Socket, owner: FakeOwner
) -> None:
    await tab.say({"type": "hello"})
    assert (await owner.question(1))[1] == 0


async def test_a_page_says_what_it_has(
    web: Client, chat: Conversation, owner: FakeOwner, open_socket: OpenSocket
) -> None:
    await Conversation.objects.aupdate(revision=7)
    tab = await open_socket("/ws/c/alices-chat/", web).open()
    await tab.hello(7)
    assert (await owner.question(1))[1] == 7


async def test_a_ping_is_answered_with_its_number_as_text(tab: Socket) -> None:
    for number, shown in NUMBERS:
        await tab.say({"type": "ping", "n": number})
        (pong,) = Document(await tab.next()).elements
        assert pong.attributes == {
            "id": "pong",
            "hidden": "",
            "data-n": shown,
            "hx-swap-oob": "true",
        }


async def test_a_ping_needs_no_number(tab: Socket) -> None:
    await tab.say({"type": "ping"})
    assert Document(await tab.next()).one(id="pong").attributes["data-n"] == ""
