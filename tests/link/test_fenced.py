"""A link that ended because its process beat late, while nobody had taken over."""

from __future__ import annotations

import pytest

from chat.link.hub import Hub
from chat.models import Conversation
from tests.link.conftest import MakeHub, OpenPage, Say
from tests.link.directed import DirectedAgent
from tests.link.wait import until

pytestmark = pytest.mark.django_db(transaction=True)


async def test_what_was_fenced_for_nothing_is_taken_up_by_who_looks_at_it(
    agent: DirectedAgent,
    hub: Hub,
    make_hub: MakeHub,
    open_page: OpenPage,
    say: Say,
    conversation: Conversation,
) -> None:
    """Its process lives, so no other could claim it; and it had no page, so it did not either."""
    asked = await say("@told a")
    part = await agent.part("a")
    page = await open_page(at=await make_hub())
    part.append("all ")
    await until(lambda: page.text(asked).strip() == "all")
    link = hub.links[conversation.pk]
    link.fence()
    await until(lambda: hub.links.get(conversation.pk) is not link)
    part.append("of it").finish()
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked) == "all of it"
