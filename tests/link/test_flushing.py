"""How fast pages are told and rows are written, and what happens when either fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.db import OperationalError

from chat.db import in_db
from chat.link import flusher as flusher_module
from chat.link import fragments
from chat.link.hub import Hub
from chat.models import Conversation, Message, Request, RequestState
from chat.transcript import reading, saving, store
from tests.link.conftest import OpenPage, Say
from tests.link.directed import DirectedAgent
from tests.link.page import Page
from tests.link.wait import PATIENCE_S, until

pytestmark = pytest.mark.django_db(transaction=True)


def stored_answer(request_id: str) -> tuple[str, str]:
    row = Message.objects.filter(request__request_id=request_id, role="agent").first()
    return (row.text, row.state) if row else ("", "")


async def test_at_most_25_pushes_a_second(
    agent: DirectedAgent, hub: Hub, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    await until(lambda: page.running)
    publisher = hub.links[conversation.pk].publisher
    loop = asyncio.get_running_loop()
    times: list[float] = []
    push = publisher.push

    async def watch(html: str) -> None:
        times.append(loop.time())
        await push(html)

    publisher.push = watch  # type: ignore[method-assign]
    for number in range(300):
        part.append(f"{number} ")
        await asyncio.sleep(0.001)
    part.finish()
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked).split() == [str(number) for number in range(300)]
    apart = [later - earlier for earlier, later in pairwise(times)]
    assert len(apart) > 3
    assert min(apart) >= flusher_module.COALESCE_S * 0.9


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


async def test_a_layer_that_fails_ends_nothing_and_pages_catch_up(
    agent: DirectedAgent, open_page: OpenPage, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    part.append("one ")
    await until(lambda: page.text(asked).strip() == "one")
    layer = get_channel_layer()

    async def broken(*_args: object) -> None:
        raise ConnectionError("the layer is away")

    with monkeypatch.context() as patch:
        patch.setattr(layer, "group_send", broken)
        part.append("two ")
        await until(lambda: in_db(lambda: stored_answer(asked)[0] == "one two"))
    part.append("three").finish()
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked) == "one two three"


async def test_the_last_push_is_repeated_for_a_page_that_lost_it(
    agent: DirectedAgent, open_page: OpenPage, say: Say
) -> None:
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    part.append("text")
    await until(lambda: page.text(asked) == "text")
    page.deaf = True
    part.finish()
    await until(lambda: in_db(lambda: stored_answer(asked)[1] == "final"))
    page.deaf = False
    await until(lambda: page.is_at_rest(asked))


async def test_drawing_that_fails_is_tried_again_and_pages_ask(
    agent: DirectedAgent, open_page: OpenPage, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flusher_module, "RETRY_S", 0.01)
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    await until(lambda: page.running)
    left = [RuntimeError("a template is broken")]
    right = fragments.changes_html

    def broken(*args: Any) -> Any:
        if left:
            raise left.pop()
        return right(*args)

    monkeypatch.setattr(flusher_module, "changes_html", broken)
    part.append("one ")
    await until(lambda: not left)
    part.append("two").finish()
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked) == "one two"


async def test_a_big_answer_is_drawn_beside_the_loop(
    agent: DirectedAgent, open_page: OpenPage, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    right = asyncio.to_thread

    async def watch(work: Any, *args: Any) -> Any:
        made.append(getattr(work, "__qualname__", ""))
        return await right(work, *args)

    monkeypatch.setattr(asyncio, "to_thread", watch)
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    part.append("word " * 10_000)
    await until(lambda: len(page.text(asked)) > 40_000)
    assert made
    part.append("and the end").finish()
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked).endswith("and the end")


async def test_the_held_back_end_of_a_long_block_comes_by_itself(
    agent: DirectedAgent, open_page: OpenPage, say: Say
) -> None:
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    part.append("```\n" + "line\n" * 2_000)
    await until(lambda: len(page.text(asked)) > 9_000)
    part.append("held back")
    await until(lambda: page.text(asked).rstrip().endswith("held back"))


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


def _is_empty(page: Page) -> bool:
    return not page.bubbles


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


async def test_an_answer_to_a_page_holds_all_up_to_the_number_it_names(
    agent: DirectedAgent, open_page: OpenPage, say: Say
) -> None:
    first = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    part.append("start ")
    await until(lambda: first.text(asked))
    pages = []
    for number in range(6):
        part.append(*(f"{number}{letter} " for letter in "abcdefgh"))
        pages.append(await open_page())
        assert "start" in pages[-1].text(asked)
    part.finish()
    for page in (first, *pages):
        await until(partial(page.is_at_rest, asked))
        assert page.text(asked) == first.text(asked)
        for early, late in pairwise(page.seen[asked]):
            assert late.startswith(early.rstrip("\n")), page.seen[asked]


async def test_c57_a_clear_by_another_process_empties_pages_without_a_poke(
    agent: DirectedAgent, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    pages = [await open_page(), await open_page()]
    asked = await say("@told a")
    (await agent.part("a")).append("text").finish()
    await until(lambda: pages[0].is_at_rest(asked))
    await in_db(store.clear, conversation.pk)
    for page in pages:
        await until(partial(_is_empty, page))


async def test_a_retry_marks_the_old_message_on_every_page(
    agent: DirectedAgent, hub: Hub, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    page = await open_page()
    asked = await say("@fail for the test")
    await until(lambda: page.is_at_rest(asked) and page.answers(asked)[0].retry)
    again = await in_db(lambda: store.accept(conversation, "@told b", "retry-1", retry_of=asked))
    await hub.ask(conversation.pk, {"type": "owner.poke"})
    await until(lambda: page.of(again.request_id))
    await until(lambda: not page.answers(asked)[0].retry)
    (await agent.part("b")).finish()


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
