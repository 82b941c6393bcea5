"""What a process counts, times and holds is what happened in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils.timezone import now

from chat.db import in_db
from chat.link import hub as hub_module
from chat.link.gauges import exposition, outbox_age_s
from chat.link.hub import Hub
from chat.link.metrics import REGISTRY
from chat.models import Conversation
from chat.transcript import saving, store
from tests.agentserver.scripted import SILENCE, ScriptedServer
from tests.link.page import Page
from tests.link.wait import until

KINDS = ("unreadable", "senseless", "oversized")

pytestmark = pytest.mark.django_db(transaction=True)

type Say = Callable[..., Awaitable[str]]
type OpenPage = Callable[..., Awaitable[Page]]


@pytest.fixture(autouse=True)
def _of_this_process(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "_hub", hub)


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def rises(name: str, before: float, **labels: str) -> None:
    await until(lambda: value(name, **labels) > before, f"{name} rises")


async def test_pages_and_links_are_those_of_now(
    open_page: OpenPage, scripted: ScriptedServer
) -> None:
    assert value("chat_pages") == 0
    claims = value("chat_claims_total")
    first, second = await open_page(), await open_page()
    await until(lambda: value("chat_links", state="joined") == 1)
    assert value("chat_pages") == 2
    assert value("chat_links", state="lost") == 0
    assert value("chat_claims_total") == claims + 1
    assert b'chat_links{state="joined"} 1.0' in exposition()
    await first.close()
    await second.close()
    assert value("chat_pages") == 0


async def test_a_message_is_counted_and_grows_old_until_it_is_accepted(
    hub: Hub, open_page: OpenPage, scripted: ScriptedServer, say: Say, conversation: Conversation
) -> None:
    scripted.answers["submitCommand"] = SILENCE
    await open_page()
    assert (value("chat_unfinished_requests"), value("chat_outbox_age_seconds")) == (0, 0)
    name = await say("hello")
    await scripted.wait_for("submitCommand")
    assert value("chat_unfinished_requests") == 1
    request = hub.links[conversation.pk].live.requests[name]
    request.created_at = now() - timedelta(minutes=5)
    assert value("chat_outbox_age_seconds") >= 300
    request.created_at = now() + timedelta(hours=1)
    assert outbox_age_s(hub) == 0
    request.created_at = now() - timedelta(minutes=5)
    await scripted.push("commandQueued", {"requestId": name})
    await scripted.push("setUserRequest", {"requestId": name}, "hello")
    await until(lambda: outbox_age_s(hub) == 0)
    assert value("chat_unfinished_requests") == 1


async def test_frames_that_are_of_no_use_are_counted_by_kind(
    open_page: OpenPage, scripted: ScriptedServer
) -> None:
    await open_page()
    await scripted.wait_for("getDisplayHistory")
    before = {kind: value("chat_dropped_frames_total", kind=kind) for kind in KINDS}
    await scripted.send("not json")
    await scripted.push("setDisplay", "no message")
    await rises("chat_dropped_frames_total", before["unreadable"], kind="unreadable")
    await rises("chat_dropped_frames_total", before["senseless"], kind="senseless")
    reconnects = value("chat_reconnects_total")
    await scripted.send("x" * (16 * 2**20 + 1))
    await rises("chat_dropped_frames_total", before["oversized"], kind="oversized")
    await rises("chat_reconnects_total", reconnects)


async def test_work_that_nobody_owned_is_counted_when_it_is_taken_up(
    scripted: ScriptedServer, conversation: Conversation
) -> None:
    before = value("chat_takeovers_total")
    await in_db(store.accept, conversation, "hello", "left-behind")
    await rises("chat_takeovers_total", before)


async def test_what_is_drawn_pushed_and_saved_is_timed(
    open_page: OpenPage, scripted: ScriptedServer, say: Say
) -> None:
    await open_page()
    names = [f"chat_{what}_seconds_count" for what in ("flush", "render", "save")]
    before = [value(name) for name in names]
    await say("hello")
    for name, count in zip(names, before, strict=True):
        await rises(name, count)


async def test_a_save_that_fails_and_a_fence_are_counted(
    hub: Hub,
    open_page: OpenPage,
    scripted: ScriptedServer,
    say: Say,
    conversation: Conversation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await open_page()
    failed, fences = value("chat_failed_saves_total"), value("chat_fences_total")

    def refuse(*args: object) -> None:
        raise OperationalError

    with monkeypatch.context() as patch:
        patch.setattr(saving, "save", refuse)
        await say("hello")
        await rises("chat_failed_saves_total", failed)
    link = hub.links[conversation.pk]
    link.fence()
    link.fence()
    await until(lambda: link.task.done())
    assert value("chat_fences_total") == fences + 1
