"""What was cleared stays away, whoever cleared it and whatever ran."""

from __future__ import annotations

from functools import partial

import pytest

from chat.db import in_db
from chat.link.hub import Hub
from chat.models import Conversation, Request
from chat.transcript import store
from tests.agentserver.scripted import ScriptedServer, joined
from tests.link.conftest import OpenPage, Say
from tests.link.directed import DirectedAgent
from tests.link.frames import Sends, entry, log_of, numbered
from tests.link.wait import until

pytestmark = pytest.mark.django_db(transaction=True)


async def test_what_was_cleared_does_not_come_back_after_a_rejoin(
    agent: DirectedAgent,
    hub: Hub,
    open_page: OpenPage,
    say: Say,
    conversation: Conversation,
) -> None:
    page = await open_page()
    for name in ("a", "b", "c"):
        asked = await say(f"@told {name}")
        (await agent.part(name)).append("text").finish()
        await until(partial(page.is_at_rest, asked))
    await in_db(store.clear, conversation.pk)
    await hub.ask(conversation.pk, {"type": "owner.poke"})
    await until(lambda: not page.texts)
    agent.server.drop_all()
    after = await say("@told d")
    (await agent.part("d")).append("new").finish()
    await until(lambda: page.is_at_rest(after))
    assert page.texts == ["@told d", "new"]


async def test_c64_a_clear_during_a_reply_stops_it_and_drops_what_comes_late(
    agent: DirectedAgent, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    part.append("half")
    await until(lambda: page.text(asked) == "half")
    await in_db(store.clear, conversation.pk)  # by another process: nobody pokes
    part.append("more")
    await until(lambda: part.cancelled)
    await until(lambda: not page.texts and not page.running)
    agent.server.drop_all()
    after = await say("@told b")
    (await agent.part("b")).append("new").finish()
    await until(lambda: page.is_at_rest(after))
    assert page.texts == ["@told b", "new"]
    assert await in_db(Request.objects.count) == 1


async def test_a_clear_while_the_agent_server_is_away_stops_the_reply_at_the_rejoin(
    scripted: ScriptedServer, hub: Hub, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    page = await open_page()
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    await Sends(scripted).started(asked)
    await until(lambda: page.state(asked) == "final")
    scripted.refuse_with = 503
    scripted.drop()
    await until(lambda: page.connection == "reconnecting")
    await in_db(store.clear, conversation.pk)
    await hub.ask(conversation.pk, {"type": "owner.poke"})
    await until(lambda: not page.texts)
    queue = {"running": entry(asked), "queued": [], "paused": False, "version": 3}
    scripted.answers["joinConversation"] = lambda o: joined(o, queueSnapshot=queue)
    scripted.answers["getDisplayHistory"] = numbered(log_of(asked, "hello", "text", done=False))
    scripted.refuse_with = None
    assert (await scripted.wait_for("cancelCommand")).args == [asked]
    await Sends(scripted).append(asked, "late")
    await until(lambda: page.connection == "connected")
    assert not page.texts
