"""After a drop everything is where it should be: nothing twice, nothing lost, nothing stuck."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from django.db import OperationalError
from pytest_django import Settings

from chat.agentserver.events import Json
from chat.db import in_db
from chat.models import Conversation, Message, Request, RequestState
from chat.transcript import reading, store
from tests.agentserver.scripted import ScriptedServer, joined
from tests.link.conftest import OpenPage, Say
from tests.link.directed import DirectedAgent
from tests.link.frames import Sends, entry, log_of, numbered, ref
from tests.link.wait import until

pytestmark = pytest.mark.django_db(transaction=True)


async def test_c01_a_reply_goes_on_after_a_drop_as_if_nothing_had_been(
    agent: DirectedAgent, open_page: OpenPage, say: Say
) -> None:
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    whole = "Some **words** and more of them.\n\n- one\n- two\n\nThe end."
    at = 0
    for step in (3, 9, 1, 6, 4, 11):
        part.append(whole[at : at + step])
        at += step
        agent.server.drop_all()
        part.append(whole[at : at + 4])  # while nobody is joined
        at += 4
        await until(lambda: agent.server.connections_now == 1)
    part.append(whole[at:])
    part.replace(whole)
    part.finish()
    await until(lambda: page.is_at_rest(asked))
    final = page.text(asked)
    assert final.replace("\n", "") == "Some words and more of them.onetwoThe end."
    assert agent.server.submits == 1
    assert agent.server.connections_peak == 1


async def test_what_ended_while_nobody_was_joined_is_final(
    agent: DirectedAgent, open_page: OpenPage, say: Say, settings: Settings
) -> None:
    page = await open_page()
    asked = await say("@told a")
    part = await agent.part("a")
    part.append("all of ")
    await until(lambda: page.text(asked) == "all of")
    agent.server.drop_all()
    part.append("it").finish()
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked) == "all of it"
    assert page.answer_state(asked) == "final"


async def test_c11_what_a_restart_of_the_agent_server_cut_off_says_so(
    tmp_path: Path, settings: Settings, open_page: OpenPage, say: Say
) -> None:
    agent = DirectedAgent(tmp_path / "agent")
    async with AsyncExitStack() as first:
        await first.enter_async_context(agent.serving())
        settings.TYPEAGENT_SERVER_URL = agent.server.url
        page = await open_page()
        running, waiting = await say("@told a"), await say("@told b")
        (await agent.part("a")).append("half an ans")
        await until(lambda: page.text(running) == "half an ans")
        await until(lambda: page.state(waiting) == "queued")
    await until(lambda: page.connection == "reconnecting")
    async with agent.serving():
        await until(lambda: page.is_at_rest(running) and page.is_at_rest(waiting))
        assert page.text(running) == "half an ans"
        (answer,) = page.answers(running)
        assert (answer.state, answer.retry) == ("interrupted", True)
        assert answer.foot.startswith("Interrupted: the agent-server restarted")
        assert page.state(waiting) == "interrupted"
        after = await say("@told c")
        (await agent.part("c")).append("works again").finish()
        await until(lambda: page.is_at_rest(after))
    assert agent.peak == 1


async def test_what_comes_while_the_log_is_read_is_applied_after_it_and_once(
    scripted: ScriptedServer, open_page: OpenPage, say: Say
) -> None:
    page, sends = await open_page(), Sends(scripted)
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    await sends.started(asked)
    await sends.append(asked, "one ")
    await until(lambda: page.text(asked) == "one ")

    async def history(*_args: Json) -> Json:
        await sends.append(asked, "two ")  # before the answer: the log has it
        await sends.append(asked, "Working", "temporary")
        return numbered(log_of(asked, "hello", "one ", "two ", done=False))

    queue = {"running": entry(asked), "queued": [], "paused": False, "version": 3}
    scripted.answers["joinConversation"] = lambda o: joined(o, queueSnapshot=queue)
    scripted.answers["getDisplayHistory"] = history
    scripted.drop()
    await until(lambda: page.text(asked).split() == ["one", "two", "Working"])
    await sends.append(asked, "three")
    await until(lambda: page.text(asked) == "one two three")
    await sends.complete(asked)
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked) == "one two three"
    for early, late in zip(page.seen[asked], page.seen[asked][1:], strict=False):
        assert late.startswith(early.replace("Working", "")), page.seen[asked]


async def test_a_frame_that_is_too_large_is_told_of_once(
    scripted: ScriptedServer,
    open_page: OpenPage,
    say: Say,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chat.link.upstream.MAX_FRAME_BYTES", 10_000)
    page = await open_page()
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    await Sends(scripted).started(asked)
    scripted.answers["getDisplayHistory"] = numbered(log_of(asked, "hello", "x" * 20_000))
    await Sends(scripted).append(asked, "x" * 20_000)
    await until(lambda: page.is_at_rest(asked) and page.connection == "connected")
    assert page.state(asked) == "interrupted"
    notices = [bubble.text for bubble in page.order if bubble.role == "notice"]
    assert notices == ["The agent-server sent something larger than 16 MiB. It cannot be shown."]
    scripted.drop()
    await until(lambda: scripted.live == 1 and page.connection == "connected")
    after = await say("works")
    await scripted.wait_for("submitCommand", 2)
    await Sends(scripted).complete(after)
    await until(lambda: page.is_at_rest(after))
    assert len([bubble for bubble in page.order if bubble.role == "notice"]) == 1


async def test_late_output_of_an_old_answer_that_comes_while_the_log_is_read_is_not_lost(
    scripted: ScriptedServer, open_page: OpenPage, conversation: Conversation
) -> None:
    old = await in_db(store.accept, conversation, "old question", "c1")
    await in_db(lambda: Request.objects.update(state=RequestState.FINAL))
    sends = Sends(scripted)
    late = numbered(log_of(old.request_id, "", "chosen")[1:2], first=30)

    async def history(*_args: Json) -> Json:
        await sends.append(old.request_id, "chosen")
        return late

    scripted.answers["getDisplayHistory"] = history
    page = await open_page()
    await until(lambda: page.text(old.request_id) == "chosen")
    assert page.state(old.request_id)


async def test_late_output_of_an_old_answer_goes_to_its_bubble(
    scripted: ScriptedServer, open_page: OpenPage, say: Say, conversation: Conversation
) -> None:
    old = await in_db(store.accept, conversation, "old question", "c1")
    await in_db(lambda: Request.objects.update(state=RequestState.FINAL))
    page, sends = await open_page(), Sends(scripted)
    await until(lambda: page.connection == "connected")
    for word in ("the ", "choice ", "was ", "made"):
        await sends.append(old.request_id, word)
    await until(lambda: page.text(old.request_id) == "the choice was made")

    def stored() -> list[str]:
        return list(Message.objects.filter(role="agent").values_list("text", flat=True))

    await until(lambda: in_db(lambda: stored() == ["the choice was made"]))


async def test_a_look_up_that_fails_is_made_again(
    scripted: ScriptedServer, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.link.intake.LOOK_AGAIN_S", 0.01)
    left = [OperationalError("away"), ValueError("odd")]
    right = reading.by_request_id

    def failing(conversation_id: int, request_ids: set[str]) -> list[reading.StoredRequest]:
        if left:
            raise left.pop()
        return right(conversation_id, request_ids)

    monkeypatch.setattr(reading, "by_request_id", failing)
    page = await open_page()
    await until(lambda: page.connection == "connected")
    await Sends(scripted).started("x", "theirs")
    await until(lambda: page.of("x"))
    assert not left


async def test_strangers_keep_their_order_over_two_looks(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    page, sends = await open_page(), Sends(scripted)
    await until(lambda: page.connection == "connected")
    await sends.started("x", "theirs")
    words = [f"{number} " for number in range(200)]
    for word in words:
        await sends.append("x", word)
    await sends.call("requestCancelled", {"requestId": "x"}, "user", 9)
    await until(lambda: page.is_at_rest("x"))
    assert page.text("x") == "".join(words)
    assert page.of("x")[0].state == "cancelled"


async def test_c59_what_no_database_takes_stops_nothing(
    scripted: ScriptedServer, open_page: OpenPage, say: Say
) -> None:
    page, sends = await open_page(), Sends(scripted)
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    await sends.started("y" * 300, "an id too long")
    await sends.started("x\x00", "a\x00b")
    await sends.started("z", "\ud83dtext\x00")
    await sends.call("requestStarted", {**entry("w"), "startedAt": 1e30, "submittedAt": 10**25}, 1)
    await sends.started(asked)
    await sends.append(asked, "out\x00put\ud800", source="s\x00" * 300, sourceIcon="i\x00" * 90)
    await sends.complete(asked, lastError="n\x00o")
    await until(lambda: page.is_at_rest(asked) or len(page.texts) >= 3)
    await until(lambda: page.of("z") and page.of("w"))
    for key in ("z", "w"):
        await sends.complete(key)
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked) == "output\ufffd"
    assert page.of("z")[0].text == "\ufffdtext"
    assert ref("w")["requestId"] == "w"
