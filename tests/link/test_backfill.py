"""What others did, and what a log brings in: once, and nothing that was there before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from django.db import transaction

from chat.agentserver.events import Json
from chat.db import in_db
from chat.link.hub import Hub
from chat.models import Conversation, Origin, Request, RequestState
from chat.transcript import store
from tests.agentserver.scripted import ScriptedServer
from tests.link.conftest import OpenPage, Say
from tests.link.directed import DirectedAgent
from tests.link.frames import log_of, numbered
from tests.link.wait import until
from tests.localagent.client import wire

pytestmark = pytest.mark.django_db(transaction=True)


async def upstream_id(conversation: Conversation) -> str:
    await until(lambda: in_db(_upstream_id, conversation))
    return await in_db(_upstream_id, conversation)


def _upstream_id(conversation: Conversation) -> str:
    conversation.refresh_from_db()
    return conversation.upstream_id


async def test_requests_of_another_client_appear_live_and_later(
    agent: DirectedAgent, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    page = await open_page()
    await until(lambda: page.connection == "connected")
    async with wire(agent.server.url, join=False) as other:
        await other.join(await upstream_id(conversation))
        await other.ask("submitCommand", "@told live")
        part = await agent.part("live")
        part.append("seen ")
        await until(lambda: page.text(part.request_id).strip() == "seen")
        part.append("as it comes").finish()
        await until(lambda: page.is_at_rest(part.request_id))
        assert [b.text for b in page.of(part.request_id)] == ["@told live", "seen as it comes"]
        agent.server.drop_all()
    await until(lambda: agent.server.connections_now == 1)
    row = await in_db(Request.objects.get, request_id=part.request_id)
    assert (row.origin, row.text) == (Origin.REMOTE, "@told live")
    assert not [b for b in page.order if b.retry]


async def test_what_others_did_while_nobody_was_joined_is_backfilled_once(
    scripted: ScriptedServer, open_page: OpenPage, conversation: Conversation
) -> None:
    page = await open_page()
    await until(lambda: page.connection == "connected")
    log = [
        *log_of("x", "theirs", "an answer"),
        *log_of("agent-test-1", "", "News")[1:2],
        *log_of("y", "cut off", "half", done=False),
    ]
    log[3]["message"]["requestId"] = {"requestId": "", "clientRequestId": "agent-test-1"}
    scripted.answers["getDisplayHistory"] = numbered(log)
    for _ in range(2):
        scripted.drop()
        await scripted.wait_for("getDisplayHistory", 2)
        await until(lambda: page.connection == "connected" and len(page.texts) == 5)
        scripted.received.clear()
    assert page.texts == ["theirs", "an answer", "News", "cut off", "half"]
    assert page.answers("y")[0].state == "interrupted"
    assert page.answers("agent-test-1")[0].state == "final"
    assert await in_db(Request.objects.filter(conversation=conversation).count) == 3


async def test_the_log_position_is_kept_so_that_a_restart_reads_from_there(
    agent: DirectedAgent, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    page = await open_page()
    for name in ("a", "b"):
        asked = await say(f"@told {name}")
        (await agent.part(name)).show("one").show("Wait", "temporary").show("two").finish()
        await until(partial(page.is_at_rest, asked))
    newest = agent.server.history(await upstream_id(conversation))[-1]["seq"]

    def position() -> int:
        conversation.refresh_from_db()
        return conversation.history_cursor

    await until(lambda: in_db(lambda: position() == newest))


async def test_a_restart_brings_nothing_in_again(
    agent: DirectedAgent,
    hub: Hub,
    make_hub: Callable[[], Awaitable[Hub]],
    open_page: OpenPage,
    say: Say,
    conversation: Conversation,
) -> None:
    page = await open_page()
    for name in ("a", "b"):
        asked = await say(f"@told {name}")
        (await agent.part(name)).append("text").finish()
        await until(partial(page.is_at_rest, asked))
    before = page.texts
    await in_db(lambda: Request.objects.filter(request_id=asked).delete())  # as pruning does
    await hub.stop()
    fresh = await make_hub()
    again = await open_page(at=fresh)
    await until(lambda: again.connection == "connected")
    assert again.texts == before[:2]


async def test_a_log_that_was_emptied_is_read_from_its_beginning(
    agent: DirectedAgent, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    page = await open_page()
    for name in ("a", "b"):
        asked = await say(f"@told {name}")
        (await agent.part(name)).append("text").finish()
    emptied = await say("@clear deep")
    await until(lambda: page.is_at_rest(asked) and page.is_at_rest(emptied))
    before = page.texts
    assert agent.server.history(await upstream_id(conversation))[0]["seq"] == 0
    agent.server.drop_all()
    await until(lambda: agent.server.connections_now == 1 and page.connection == "connected")
    after = await say("@told c")
    (await agent.part("c")).append("new").finish()
    await until(lambda: page.is_at_rest(after))
    agent.server.drop_all()
    await until(lambda: agent.server.connections_now == 1)
    await until(lambda: page.connection == "connected")
    assert page.texts == [*before, "@told c", "new"]


@transaction.atomic
def _left_behind(conversation: Conversation) -> str:
    """What a crash left: a request under way, and a position that is too high by one."""
    request = store.accept(conversation, "hello", "c1")
    Request.objects.update(state=RequestState.SENT)
    Conversation.objects.update(history_cursor=4, upstream_id="c1")
    return request.request_id


async def test_a_position_that_ran_ahead_costs_nothing(
    scripted: ScriptedServer, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    """Positions are counted. Where the count is wrong, the log is read from its beginning."""
    old = numbered(log_of("old", "before", "text"))
    mine = await in_db(_left_behind, conversation)
    log = [*old, *numbered(log_of(mine, "hello", "an", "swer"), first=len(old))]

    def history(after: int = -1) -> Json:
        return [item for item in log if item["seq"] > after]

    scripted.answers["getDisplayHistory"] = history
    page = await open_page()
    await until(lambda: page.is_at_rest(mine))
    assert page.text(mine) == "answer"
    await until(lambda: "before" in page.texts)
