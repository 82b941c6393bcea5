"""How fast pages are told and rows are written, and what happens when either fails."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from channels.layers import get_channel_layer

from chat.db import in_db
from chat.link import flusher as flusher_module
from chat.link import fragments
from chat.link.hub import Hub
from chat.models import Conversation, Message
from chat.transcript import store
from tests.link.conftest import OpenPage, Say
from tests.link.directed import DirectedAgent
from tests.link.page import Page
from tests.link.wait import until

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


def _is_empty(page: Page) -> bool:
    return not page.bubbles


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
