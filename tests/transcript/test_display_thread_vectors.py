"""The original clients' own cases of the display thread, one test each."""

from __future__ import annotations

from typing import Any

import pytest

from chat.agentserver.events import CommandComplete, Json, RequestRef
from chat.display.content import Segment, parse_content
from chat.models import MessageState, RequestState
from chat.transcript.requests import Signal, advance, bubble_states, completion
from chat.transcript.thread import Bubble, Thread, ephemeral, parse_mode
from tests.transcript.vectors import Case, params, table

CASES = table("display_thread")
PARSED = {name: case for name, case in CASES.items() if "steps" not in case["input"]}
THREADS = {name: case for name, case in CASES.items() if "setup" in case["input"]}
PANEL = {name: case for name, case in CASES.items() if name not in PARSED | THREADS}

FADING = "a page shows the state of a request as long as it lasts: nothing fades by a clock"
METRICS = "metrics, token counts and trace ids are not shown yet"
THINKING = "reasoning blocks are not told apart from other content yet"
PAGE = "what a click or a page does is tested with the page"
PROMPTS = "prompts and forms are not shown yet"
NOTIFICATIONS = "notifications are not shown yet"
INSPECT = "diagnostic data is not shown yet"
EXPLAINED = "how a request was understood is not shown yet"

PANEL_LATER = {
    "panel_sent_timeout": FADING,
    "panel_sent_dismissed_by_agent": FADING,
    "panel_sent_not_resurrected": FADING,
    "panel_null_cancels_timer": FADING,
    "panel_null_removes": FADING,
    "panel_thinking_tokens": METRICS,
    "panel_thinking_single": METRICS,
    "panel_thinking_estimated": METRICS,
    "panel_trace_id": METRICS,
    "panel_no_trace_id": METRICS,
    "panel_reasoning_variant": THINKING,
    "panel_plain_variant": THINKING,
    "panel_thinking_collapse_superseded": THINKING,
    "panel_thinking_collapse_complete": THINKING,
    "panel_thinking_collapse_active": THINKING,
    "panel_thinking_unknown_keeps_open": THINKING,
    "panel_thinking_token_step": THINKING,
    "panel_thinking_token_temporary": THINKING,
    "panel_thinking_token_absent": THINKING,
    "panel_cancel_banner_missing": PAGE,
    "panel_retry": PAGE,
    "panel_peer_no_retry": PAGE,
    "notif_persistent": NOTIFICATIONS,
    "notif_update": NOTIFICATIONS,
    "notif_remove": NOTIFICATIONS,
    "notif_remove_unknown": NOTIFICATIONS,
    "notif_distinct": NOTIFICATIONS,
    "inspect_result": INSPECT,
    "inspect_other": INSPECT,
    "inspect_early": INSPECT,
    "inspect_status_ok": INSPECT,
    "inspect_status_error": INSPECT,
    "explained_icon": EXPLAINED,
    "explained_popover": EXPLAINED,
    "explained_model": EXPLAINED,
    "explained_generalizations": EXPLAINED,
    "explained_no_detail": EXPLAINED,
    "explained_replayed": EXPLAINED,
    "attach_image_only_sendable": "attachments cannot be sent yet",
    "form_first_page": PROMPTS,
    "form_navigate": PROMPTS,
    "form_cancel": PROMPTS,
    "form_aborted": PROMPTS,
    "tool_call_block": THINKING,
    "tool_result_block": THINKING,
}
"""The cases of the chat panel that are no rule of a thread or of a request's state."""

PANEL_NOW = {
    "panel_queued_rail",
    "panel_running_rail",
    "panel_queued_persists",
    "panel_idle_no_rail",
    "panel_working_rail",
    "panel_complete_clears_working",
    "panel_idle_clears_working",
    "panel_step_moves_working",
    "panel_prompt_between_steps",
    "panel_cancel_banner",
    "panel_cancel_no_agent_bubble",
    "panel_cancel_survives_queue_clear",
}


def parse(content: Json) -> Segment | None:
    return parse_content(
        {"type": content["format"], "content": content["text"], "kind": content["kind"]}
    )


def parts(thread: Thread) -> list[Segment]:
    """The visible segments of a thread that has one bubble."""
    assert len(thread.bubbles) <= 1
    return [part for bubble in thread.bubbles for part in bubble.segments if part.text.strip()]


def text_of(thread: Thread) -> str:
    return "\n\n".join(part.text for part in parts(thread))


def play(steps: list[dict[str, Any]]) -> Thread:
    thread = Thread()
    for step in steps:
        before = text_of(thread)
        if step["do"] == "flushTemporary":
            thread.complete()
            assert (text_of(thread) != before) is step["expect"]
        elif step["mode"] == "replace":
            thread.set_display(parse(step["content"]))
        else:
            thread.append(parse(step["content"]), step["mode"])
    return thread


def test_every_case_is_tested_or_listed() -> None:
    groups = [set(PARSED), set(THREADS), PANEL_NOW, set(PANEL_LATER)]
    assert set.union(*groups) == set(CASES)
    assert sum(map(len, groups)) == len(CASES)


@pytest.mark.parametrize("case", params(THREADS))
def test_the_thread_vectors_hold(case: Case) -> None:
    thread, expect = play(case["input"]["steps"]), case["expect"]
    assert expect.keys() <= {"text", "segments", "format", "isEmpty"}
    if "text" in expect:
        assert text_of(thread) == expect["text"]
    if "isEmpty" in expect:
        assert (not parts(thread)) is expect["isEmpty"]
        assert all(bubble.empty for bubble in thread.bubbles) is expect["isEmpty"]
    if "format" in expect:
        assert any(part.type == expect["format"] for part in parts(thread))
    if isinstance(expect.get("segments"), int):
        assert len(parts(thread)) == expect["segments"]
    for part, wanted in zip(parts(thread), _listed(expect), strict=bool(_listed(expect))):
        assert {name: getattr(part, name) for name in wanted} == wanted


@pytest.mark.parametrize("case", params(PARSED))
def test_the_parsing_vectors_hold(case: Case) -> None:
    given, expect = case["input"], case["expect"]
    if given.get("parse") == "appendMode":
        assert parse_mode(given["value"]) == expect
    elif given.get("parse") == "messageKind":
        segment = parse_content({"type": "text", "content": "x", "kind": given["value"]})
        assert segment is not None
        assert segment.kind == expect
    else:
        assert ephemeral(given["value"]) is expect


@pytest.mark.parametrize("case", params(PANEL, PANEL_LATER))
def test_the_panel_vectors_hold(case: Case) -> None:
    """A request's state and its bubbles, as the steps of the case change them."""
    panel = Panel()
    for step in case["input"]["steps"]:
        panel.do(step)
        if step["do"] == "check":
            panel.check(step["expect"])
    panel.check(case["expect"])


class Panel:
    """What a page would show of one request, from our own rules."""

    def __init__(self) -> None:
        self.state = RequestState.PENDING
        self.thread = Thread()

    def do(self, step: dict[str, Any]) -> None:
        match step["do"]:
            case "setUserBubbleQueueStatus" if step["status"] == "queued":
                self._signal(Signal.ACCEPTED)
            case "setUserBubbleQueueStatus" if step["status"] is None:
                self._signal(Signal.ACCEPTED)  # the queue no longer lists it: no news of its end
            case "setUserBubbleQueueStatus" | "setProcessing":
                self._signal(Signal.STARTED)
            case "addAgentMessage":
                self._signal(Signal.OUTPUT)
                self.thread.append(Segment("text", step["content"]), step["mode"], step["source"])
            case "completeRequest":
                event = CommandComplete(ref=RequestRef("req-1"), result=step.get("result"))
                self._signal(completion(event))
            case "markUserBubbleCancelled":
                self._signal(Signal.CANCELLED)
            case "setIdle":
                self._signal(Signal.COMPLETED)

    def check(self, expect: dict[str, Any]) -> None:
        user, agent = bubble_states(self.state)
        working = self.thread.bubbles[-1:] if agent is MessageState.STREAMING else []
        shown = [bubble for bubble in self.thread.bubbles if not bubble.empty]
        for name, wanted in expect.items():
            match name:
                case "userRail" if wanted is None:
                    assert user not in (MessageState.QUEUED, MessageState.CANCELLED)
                case "userRail":
                    assert (user is MessageState.QUEUED) is (wanted["status"] == "queued")
                case "agentRail":
                    assert bool(working) is (wanted is not None)
                case "agentRails":
                    assert len(working) == wanted
                case "agentBubbles":
                    assert len(shown) == wanted
                case "cancelledBanner":
                    assert user is MessageState.CANCELLED
                case "visualOrder":
                    texts = [_text(bubble) for bubble in shown]
                    assert [text for text in wanted if text != "prompt card"] == texts[1:]
                case _:
                    assert name == "textContains", f"{name} is not checked"

    def _signal(self, signal: Signal) -> None:
        self.state = advance(self.state, signal)
        if signal in (Signal.COMPLETED, Signal.CANCELLED):
            self.thread.complete()


def _listed(expect: dict[str, Any]) -> list[dict[str, Any]]:
    segments = expect.get("segments")
    return segments if isinstance(segments, list) else []


def _text(bubble: Bubble) -> str:
    return "".join(segment.text for segment in bubble.segments)
