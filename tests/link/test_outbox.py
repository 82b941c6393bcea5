"""What the user asks is handed in once and in order, whatever happens to the connection."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from chat.agentserver.events import Json
from chat.db import in_db
from chat.models import Conversation
from chat.transcript import store
from tests.agentserver.scripted import SILENCE, Refusal, ScriptedServer, joined
from tests.link.conftest import OpenPage, Say, accept
from tests.link.frames import Sends, entry, log_of, message, numbered, ref
from tests.link.wait import until

pytestmark = pytest.mark.django_db(transaction=True)


def submitted(server: ScriptedServer) -> list[str]:
    """The texts in the order in which they were handed in."""
    return [frame.args[0] for frame in server.received if frame.name == "submitCommand"]


async def test_our_id_is_the_requests_and_the_clients(scripted: ScriptedServer, say: Say) -> None:
    asked = await say("hello")
    frame = await scripted.wait_for("submitCommand")
    assert frame.args == ["hello", None, None, asked, asked]


async def test_a_drop_before_the_answer_submits_again_what_nobody_knows(
    scripted: ScriptedServer, say: Say
) -> None:
    scripted.answers["submitCommand"] = SILENCE
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    scripted.answers["submitCommand"] = accept
    scripted.drop()
    again = await scripted.wait_for("submitCommand", 2)
    assert again.args[4] == asked


async def test_c69_what_the_queue_has_is_not_submitted_again(
    scripted: ScriptedServer, say: Say, open_page: OpenPage
) -> None:
    page = await open_page()
    scripted.answers["submitCommand"] = SILENCE
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    queue = {"running": entry(asked), "queued": [], "paused": False, "version": 3}
    scripted.answers["joinConversation"] = lambda o: joined(o, queueSnapshot=queue)
    scripted.drop()
    await until(lambda: page.running and page.state(asked) == "final")
    await Sends(scripted).append(asked, "the answer")
    await Sends(scripted).complete(asked)
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked) == "the answer"
    assert submitted(scripted) == ["hello"]


async def test_c69_what_the_log_has_is_not_submitted_again(
    scripted: ScriptedServer, say: Say, open_page: OpenPage
) -> None:
    page = await open_page()
    scripted.answers["submitCommand"] = SILENCE
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    scripted.answers["getDisplayHistory"] = numbered(log_of(asked, "hello", "an", "swer"))
    scripted.drop()
    await until(lambda: page.is_at_rest(asked))
    assert page.text(asked) == "answer"
    await until(lambda: page.connection == "connected")
    assert submitted(scripted) == ["hello"]


async def test_a_submit_that_arrives_after_the_rejoin_is_seen(
    scripted: ScriptedServer, say: Say, open_page: OpenPage
) -> None:
    """The old socket's last frame may be read when the new one is joined already."""
    page = await open_page()
    scripted.answers["submitCommand"] = SILENCE
    asked = await say("hello")
    await scripted.wait_for("submitCommand")

    async def history(*_args: Json) -> Json:
        await Sends(scripted).started(asked, "hello")
        return []

    scripted.answers["getDisplayHistory"] = history
    scripted.drop()
    await until(lambda: page.running and page.state(asked) == "final")
    await until(lambda: page.connection == "connected")
    assert submitted(scripted) == ["hello"]


async def test_the_order_is_kept_over_a_drop(scripted: ScriptedServer, say: Say) -> None:
    scripted.answers["submitCommand"] = SILENCE
    for text in ("one", "two", "three"):
        await say(text)
    await scripted.wait_for("submitCommand")
    scripted.answers["submitCommand"] = accept
    scripted.drop()
    await scripted.wait_for("submitCommand", 4)
    assert submitted(scripted) == ["one", "one", "two", "three"]


async def test_a_request_that_was_taken_twice_is_shown_once(
    scripted: ScriptedServer, say: Say, open_page: OpenPage
) -> None:
    page, sends = await open_page(), Sends(scripted)
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    for _ in range(2):
        await sends.started(asked, "hello")
        await sends.call("setDisplay", message(asked, "the answer"))
        await sends.complete(asked)
    await until(lambda: page.is_at_rest(asked))
    assert page.texts == ["hello", "the answer"]


async def test_a_request_that_was_taken_twice_shows_its_second_run_alone(
    scripted: ScriptedServer, say: Say, open_page: OpenPage
) -> None:
    page, sends = await open_page(), Sends(scripted)
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    for answer in ("the first answer", "the second one"):
        await sends.started(asked, "hello")
        for word in answer.split(" "):
            await sends.append(asked, f"{word} ")
        await sends.complete(asked)
    await until(lambda: page.is_at_rest(asked) and page.shows(asked, "the second one "))
    assert [bubble.state for bubble in page.order] == ["final", "final"]


@pytest.mark.parametrize(
    ("answer", "state", "note"),
    [
        (
            {"ok": False, "error": "queue_full", "maxDepth": 100},
            "failed",
            "Not sent: too many requests are waiting",
        ),
        (
            {"ok": False, "error": "server_stopping"},
            "interrupted",
            "The agent-server is shutting down",
        ),
        ({"ok": False}, "failed", "Not accepted by the agent-server"),
        (Refusal("request.matchAll is not a function"), "failed", "request.matchAll is not a"),
        (Refusal("<b>\x00" + "x" * 400), "failed", "<b>xxx"),
    ],
)
async def test_a_refusal_is_shown_with_retry_and_the_text_stays(
    scripted: ScriptedServer, say: Say, open_page: OpenPage, answer: Json, state: str, note: str
) -> None:
    scripted.answers["submitCommand"] = answer
    page = await open_page()
    asked = await say("hello")
    await until(lambda: page.is_at_rest(asked))
    (question,) = page.of(asked)
    assert (question.text, question.state, question.retry) == ("hello", state, True)
    assert question.foot.startswith(note)


async def test_c12_a_server_that_says_nothing_is_left_and_joined_again(
    scripted: ScriptedServer, say: Say, settings: Settings, open_page: OpenPage
) -> None:
    settings.AGENT_INVOKE_TIMEOUT_S = 0.3
    page = await open_page()
    await until(lambda: page.connection == "connected")
    scripted.mute = True
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    await until(lambda: "did not answer submitCommand" in page.connection_text)
    scripted.mute = False
    await scripted.wait_for("submitCommand", 2)
    await Sends(scripted).complete(asked)
    await until(lambda: page.is_at_rest(asked))
    assert set(submitted(scripted)) == {"hello"}
    assert scripted.live == 1


async def stop(conversation: Conversation, request_id: str) -> None:
    await in_db(store.request_stop, conversation, request_id)


async def test_c17_stop_goes_upstream_and_the_state_waits_for_the_answer(
    scripted: ScriptedServer, say: Say, open_page: OpenPage, conversation: Conversation
) -> None:
    page, sends = await open_page(), Sends(scripted)
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    await sends.started(asked)
    await sends.append(asked, "half an ans")
    await until(lambda: page.shows(asked, "half an ans"))
    await stop(conversation, asked)
    assert (await scripted.wait_for("cancelCommand")).args == [asked]
    assert page.answer_state(asked) == "streaming"
    await sends.call("requestCancelled", asked, "user", 5)
    await sends.append(asked, "wer that comes late")
    await until(lambda: page.is_at_rest(asked))
    (answer,) = page.answers(asked)
    assert (answer.text, answer.state, answer.foot) == ("half an ans", "cancelled", "StoppedRetry")


async def test_what_the_server_does_not_know_is_stopped_at_once(
    scripted: ScriptedServer, say: Say, open_page: OpenPage, conversation: Conversation
) -> None:
    scripted.answers["cancelCommand"] = {"kind": "not_found"}
    page = await open_page()
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    await stop(conversation, asked)
    await until(lambda: page.is_at_rest(asked))
    assert page.state(asked) == "cancelled"


async def test_what_was_never_handed_in_is_stopped_without_asking(
    scripted: ScriptedServer, say: Say, open_page: OpenPage, conversation: Conversation
) -> None:
    scripted.answers["submitCommand"] = SILENCE  # the one before it blocks the way
    page = await open_page()
    await say("first")
    asked = await say("second")
    await scripted.wait_for("submitCommand")
    await stop(conversation, asked)
    scripted.answers["submitCommand"] = accept
    scripted.drop()
    await until(lambda: page.state(asked) == "cancelled")
    await until(lambda: page.connection == "connected")
    assert submitted(scripted) == ["first", "first"]
    assert not [frame for frame in scripted.received if frame.name == "cancelCommand"]


async def test_stop_may_be_pressed_again_when_it_was_refused(
    scripted: ScriptedServer, say: Say, conversation: Conversation
) -> None:
    scripted.answers["cancelCommand"] = Refusal("not now")
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    await stop(conversation, asked)
    await scripted.wait_for("cancelCommand")
    await say("something else")  # wakes the outbox, as a second press does
    await scripted.wait_for("cancelCommand", 2)


@pytest.mark.parametrize(
    ("choices", "default", "answer"),
    [
        (["Yes", "No"], 0, 1),
        (["No", "yes "], 1, 0),
        (["Yes", "No"], 1, None),
        (["Tea", "Coffee"], 0, None),
        (["Yes", "No"], None, None),
        (["Yes", "No"], 7, None),
        (["Yes"], 0, None),
    ],
)
async def test_a_stopped_request_is_freed_from_its_question_without_a_yes(
    scripted: ScriptedServer,
    say: Say,
    conversation: Conversation,
    choices: list[str],
    default: int | None,
    answer: int | None,
) -> None:
    sends = Sends(scripted)
    asked = await say("hello")
    await scripted.wait_for("submitCommand")
    await sends.started(asked)
    for number, of in (("i", asked), ("other", "another")):
        fields = {"interactionId": number, "type": "question", "requestId": ref(of)}
        more = {"source": "test", "message": "Sure?", "choices": choices, "defaultId": default}
        await sends.call("requestInteraction", {**fields, **more})
    await stop(conversation, asked)
    await scripted.wait_for("cancelCommand")
    if answer is None:
        assert (await scripted.wait_for("cancelInteraction")).args == ["i"]
    else:
        frame = await scripted.wait_for("respondToInteraction")
        assert frame.args == [{"interactionId": "i", "type": "question", "value": answer}]
    assert not [f for f in scripted.received if "other" in str(f.args)]
