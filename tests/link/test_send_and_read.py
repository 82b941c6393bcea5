"""A message goes out, and its answer comes back to every page and into the rows."""

from __future__ import annotations

from functools import partial

import pytest

from chat.db import in_db
from chat.models import Conversation, Message, Request
from tests.link.conftest import OpenPage, Say
from tests.link.directed import DirectedAgent
from tests.link.wait import until

pytestmark = pytest.mark.django_db(transaction=True)


async def states(request_id: str) -> list[str]:
    """As the rows have them: of the request, of the question, and of the answers."""
    request = await in_db(Request.objects.get, request_id=request_id)
    rows = Message.objects.filter(request=request).order_by("step")
    return [request.state, *await in_db(lambda: [row.state for row in rows])]


async def has_states(request_id: str, *wanted: str) -> bool:
    return await states(request_id) == list(wanted)


async def test_a_question_is_answered_on_every_page(
    agent: DirectedAgent, open_page: OpenPage, say: Say
) -> None:
    pages = [await open_page(), await open_page()]
    asked = await say("@told a")
    part = await agent.part("a")
    part.append("Hello ", "wor", "ld")
    for page in pages:
        await until(partial(page.shows, asked, "Hello world"))
        assert page.answer_state(asked) == "streaming"
        assert page.running
    part.finish()
    for page in pages:
        await until(partial(page.is_at_rest, asked))
        assert [bubble.state for bubble in page.of(asked)] == ["final", "final"]
        assert [b.text for b in page.of(asked)] == ["@told a", "Hello world"]
    await until(lambda: has_states(asked, "final", "final", "final"))
    message = await in_db(Message.objects.get, request__request_id=asked, role="agent")
    assert message.text == "Hello world"
    assert agent.server.connections_peak == 1


async def test_the_answer_of_an_agent_keeps_its_steps(
    agent: DirectedAgent, open_page: OpenPage, say: Say
) -> None:
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    part.show("one", "step")
    part.show("two", "step")
    await until(lambda: page.text(asked) == "one\ntwo")
    assert [answer.state for answer in page.answers(asked)] == ["final", "streaming"]
    await until(lambda: has_states(asked, "running", "final", "final", "streaming"))
    part.finish()
    await until(lambda: [answer.state for answer in page.answers(asked)] == ["final", "final"])


async def test_the_finished_text_is_spoken_once(
    agent: DirectedAgent, open_page: OpenPage, say: Say
) -> None:
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    part.append("Some ").append("words")
    await until(lambda: page.text(asked) == "Some words")
    part.finish()
    await until(lambda: "Some words" in page.spoken)
    assert page.spoken == ["Replying…", "Some words"]


async def test_c22_a_question_stands_once_however_often_it_is_told(
    agent: DirectedAgent, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    page = await open_page()
    for name in ("a", "b", "c"):
        await say(f"@told {name}")
    for name in ("a", "b", "c"):
        (await agent.part(name)).append(f"answer {name}").finish()
    await until(lambda: len(page.texts) == 6)
    assert page.texts == ["@told a", "answer a", "@told b", "answer b", "@told c", "answer c"]
    assert agent.server.submits == 3
