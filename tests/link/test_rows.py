"""When rows are written, what happens when that fails, and which revision a page may claim."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError

from chat.db import in_db
from chat.link import flusher as flusher_module
from chat.link.hub import Hub
from chat.models import Conversation, Message, Request, RequestState
from chat.transcript import reading, saving, store
from tests.link.conftest import OpenPage, Say
from tests.link.directed import DirectedAgent
from tests.link.wait import until
from tests.processes import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)


def stored_answer(request_id: str) -> tuple[str, str]:
    row = Message.objects.filter(request__request_id=request_id, role="agent").first()
    return (row.text, row.state) if row else ("", "")


async def test_what_streams_is_saved_while_it_streams(
    agent: DirectedAgent, open_page: OpenPage, say: Say
) -> None:
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    saved: set[str] = set()
    async with asyncio.timeout(PATIENCE_S):
        while len(saved) < 3:  # without a pause for a save to fit in
            part.append("word ")
            await asyncio.sleep(0.002)
            saved.add((await in_db(stored_answer, asked))[0])
    part.finish()
    await until(lambda: page.is_at_rest(asked))
    await until(lambda: in_db(lambda: stored_answer(asked)[1] == "final"))
    assert (await in_db(stored_answer, asked))[0] == page.text(asked).strip()


def fails(monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> list[Exception]:
    """The next saves fail so; the list empties as they do."""
    left = list(errors)
    right: Callable[..., Any] = saving.save

    def save(*args: Any) -> Any:
        if left:
            raise left.pop(0)
        return right(*args)

    monkeypatch.setattr(saving, "save", save)
    monkeypatch.setattr(flusher_module, "RETRY_S", 0.01)
    return left


async def test_a_save_that_fails_is_made_again_and_nothing_is_lost(
    agent: DirectedAgent, open_page: OpenPage, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = await open_page()
    left = fails(monkeypatch, OperationalError("locked"), ValueError("odd"), OperationalError("x"))
    asked = await say("@told a")
    part = await agent.part("a")
    part.append("all ", "of ", "it").finish()
    await until(lambda: page.is_at_rest(asked))
    await until(lambda: in_db(lambda: stored_answer(asked) == ("all of it", "final")))
    assert not left


async def test_what_a_link_holds_is_saved_when_it_closes_even_if_that_fails_at_first(
    agent: DirectedAgent,
    hub: Hub,
    say: Say,
    conversation: Conversation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chat.link.link.LAST_RETRY_S", 0.01)
    asked = await say("@told a")
    part = await agent.part("a")
    link = hub.links[conversation.pk]
    part.append("unsaved text")
    await until(lambda: asked in link.live.requests and link.live.requests[asked].answered)
    left = fails(monkeypatch, *[OperationalError("away")] * 3)
    await link.close()
    assert not left
    assert await in_db(stored_answer, asked) == ("unsaved text", "streaming")


async def test_a_link_that_cannot_save_ends_all_the_same(
    agent: DirectedAgent,
    hub: Hub,
    say: Say,
    conversation: Conversation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chat.link.link.LAST_RETRY_S", 0)
    await say("@told a")
    await agent.part("a")
    fails(monkeypatch, *[OperationalError("away")] * 100)
    link = hub.links[conversation.pk]
    link.live.requests[next(iter(link.live.requests))].unsaved = True
    await link.close()
    assert conversation.pk not in hub.links


async def test_nothing_of_others_is_skipped_between_two_saves(
    agent: DirectedAgent, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    """Accepted by another process, which pokes nobody, while this one saves."""
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    others = []
    for number in range(10):
        part.append(f"{number} ")
        others.append(await in_db(store.accept, conversation, f"other {number}", f"c{number}"))
        await asyncio.sleep(0.03)
    part.finish()
    await until(lambda: all(page.of(other.request_id) for other in others))
    await until(lambda: page.answer_state(asked) == "final")
    assert page.text(asked).split() == [str(number) for number in range(10)]


def _fresh(conversation: Conversation) -> Conversation:
    return Conversation.objects.get(pk=conversation.pk)


async def test_a_page_never_claims_a_revision_whose_rows_it_lacks(
    agent: DirectedAgent, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    page = await open_page()
    for number in range(5):
        asked = await say(f"@told {number}")
        (await agent.part(str(number))).append("answer ", str(number)).finish()
        await in_db(store.accept, conversation, f"quiet {number}", f"q{number}")
        await until(partial(page.of, asked))
        revision, names = page.revision, set(page.bubbles)
        had = await in_db(reading.changed_since, conversation.pk, 0)
        behind = await in_db(reading.changed_since, conversation.pk, revision)
        changed = {bubble.uid for bubble in behind.bubbles}
        assert {bubble.uid for bubble in had.bubbles} - names <= changed


async def test_a_write_of_a_link_that_lost_its_lease_is_refused_and_ends_it(
    agent: DirectedAgent, hub: Hub, say: Say, conversation: Conversation
) -> None:
    asked = await say("@told a")
    part = await agent.part("a")
    link = hub.links[conversation.pk]
    await until(lambda: in_db(lambda: Request.objects.get().state == RequestState.RUNNING))
    await in_db(lambda: Conversation.objects.update(owner_epoch=link.epoch + 1))
    before = await in_db(_fresh, conversation)
    part.append("nobody may write this").finish()
    await asyncio.wait([link.task])
    after = await in_db(_fresh, conversation)
    assert (after.owner_epoch, before.revision) == (link.epoch + 1, after.revision)
    assert await in_db(stored_answer, asked) == ("", "")
