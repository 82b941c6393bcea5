"""The connection to the agent-server goes at the very frame at which it hurts most."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.processes import Agent
from tests.survival.conftest import AGENT_WAITS, StartTalk
from tests.survival.middle import Deed, Frame, Middle, let_pass
from tests.survival.mutate import call
from tests.survival.rounds import rounds
from tests.survival.talk import Talk

MESSAGES = 4
PICTURE_BYTES = 3 * 2**19  # 1.5 MiB
FRAMES = 200
"""Of such a conversation, at least."""

SOON_FRAMES = 12
"""In so many a connection is joined again and has read the log."""

NEVER_S = 600
"""So long that what waits for it has not come when a test gives up."""


@pytest.fixture(scope="module")
def agent_options() -> tuple[str, ...]:
    return (*AGENT_WAITS, "--word-delay", "0.005")  # what happens here happens at a frame


@pytest.fixture(scope="module")
def module_middle(upstream: Agent) -> Iterator[Middle]:
    """Stands between the site and its agent-server."""
    middle = Middle(upstream.url)
    yield middle.start()
    middle.stop()


@pytest.fixture
def middle(module_middle: Middle) -> Iterator[Middle]:
    """Lets everything pass unless the test says otherwise."""
    yield module_middle
    module_middle.rule = let_pass


@pytest.fixture(scope="module")
def site_settings(module_middle: Middle) -> dict[str, Any]:
    # What waits for an answer must not be saved by its time-out: only the drop may end it.
    return {
        "TYPEAGENT_SERVER_URL": module_middle.url,
        "AGENT_INVOKE_TIMEOUT_S": str(NEVER_S),
    }


class At:
    """A rule that does something to the submit of one message of a conversation, or its answer."""

    def __init__(self, chat: Talk, deed: Deed, *, answer: bool = False) -> None:
        self.deed = deed
        self.left = chat.rng.randrange(MESSAGES)
        self.words = f"talk {uuid4().hex[:8]}"
        self.answer = answer
        self.call: Frame | None = None
        self.done = False

    def __call__(self, frame: Frame) -> Deed:
        """What becomes of the frame."""
        if self.done:
            return Deed.PASS
        if self.answer and self.call is not None and frame.answers(self.call):
            return self._do()
        if frame.is_call("submitCommand") and self.words in frame.message["args"][0]:
            self.left -= 1
            if self.left < 0 and self.call is None:
                self.call = frame
                return Deed.PASS if self.answer else self._do()
        return Deed.PASS

    def _do(self) -> Deed:
        self.done = True
        return self.deed


class Anywhere:
    """A rule that cuts the connection at any frame, and then again while it is being mended."""

    def __init__(self, chat: Talk) -> None:
        self.rng = chat.rng
        self.left = self.rng.randrange(FRAMES)
        self.cuts = self.rng.randint(1, 3)
        self.done = False

    def __call__(self, frame: Frame) -> Deed:
        """What becomes of the frame."""
        self.left -= 1
        if self.left >= 0 or self.done:
            return Deed.PASS
        self.left = self.rng.randint(1, SOON_FRAMES)
        self.cuts -= 1
        self.done = self.cuts == 0
        return self.rng.choice((Deed.CUT, Deed.PASS_AND_CUT))


async def go_through(chat: Talk, middle: Middle, rule: At | Anywhere, *, runs: int = 1) -> None:
    """A conversation in which that happens, and which comes through it whole."""
    words = rule.words if isinstance(rule, At) else "whatever"
    middle.rule = rule
    for number in range(MESSAGES):
        await chat.send(f"{words} {number} and some more of them to say")
    await chat.settle_after()
    assert rule.done
    await chat.check(runs=runs)
    assert {request["state"] for request in chat.requests()} == {"final"}


@rounds()
async def test_a_drop_before_a_submit_arrives_sends_it_again(
    talk: StartTalk, middle: Middle, seed: int
) -> None:
    async with talk(seed) as chat:
        await go_through(chat, middle, At(chat, Deed.CUT))


@rounds()
async def test_a_drop_when_a_submit_has_arrived_sends_it_once(
    talk: StartTalk, middle: Middle, seed: int
) -> None:
    async with talk(seed) as chat:
        await go_through(chat, middle, At(chat, Deed.PASS_AND_CUT))


@rounds()
async def test_c45_a_drop_that_takes_the_answer_to_a_submit_along_fails_it_at_once(
    talk: StartTalk, middle: Middle, seed: int
) -> None:
    async with talk(seed) as chat:
        await go_through(chat, middle, At(chat, Deed.CUT, answer=True))


@rounds()
async def test_a_message_that_is_accepted_twice_is_shown_once(
    talk: StartTalk, middle: Middle, seed: int
) -> None:
    async with talk(seed) as chat:
        await go_through(chat, middle, At(chat, Deed.TWICE), runs=2)
        assert len(chat.asked_upstream()) == MESSAGES + 2


@rounds()
async def test_a_drop_at_any_frame_and_soon_again_loses_nothing(
    talk: StartTalk, middle: Middle, seed: int
) -> None:
    async with talk(seed) as chat:
        await go_through(chat, middle, Anywhere(chat))


async def test_c39_a_display_of_a_megabyte_and_a_half_arrives_whole(
    talk: StartTalk, middle: Middle
) -> None:
    async with talk(0) as chat:
        await chat.send("@slow 600", echoed=False)
        await chat.until("it runs", lambda: chat.in_state("agent", "streaming"))
        (request,) = chat.requests()
        upstream_id = chat.rows.upstream_id(chat.person.key)
        line = middle.line(upstream_id)
        assert line is not None
        picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * PICTURE_BYTES).decode()
        shown = {"type": "markdown", "content": f"![It](data:image/png;base64,{picture})"}
        ref = {"requestId": request["request_id"]}
        message = {"message": shown, "requestId": ref, "source": "test"}
        await middle.inject(line, call(upstream_id, "appendDisplay", message, "block"))
        await chat.until("it is there", lambda: any(picture in text for text in chat.reader.texts))
        await chat.person.post("stop/")
        await chat.settle()
        await chat.check()
        # More markdown than is drawn as such, so it stands there as it came.
        fresh = [bubble.text for bubble in await chat.fresh() if bubble.role == "agent"]
        assert picture in "".join(fresh).replace(" ", "")
        assert chat.joins() == 1
