"""The chat agent's answers are markdown, whatever the wire calls them (WIRE.md 12)."""

from __future__ import annotations

import pytest

from chat.agentserver.events import AgentMessage, AppendDisplay, RequestRef, SetDisplay
from chat.display.content import Segment
from chat.transcript.effects import change
from chat.transcript.live_request import LiveRequest

REF = RequestRef(request_id="r")


def shown(content: object, source: str) -> list[Segment]:
    live = LiveRequest("key", "r")
    change(live, AppendDisplay(message=AgentMessage(content, REF, source), mode="inline"))
    return live.thread.bubbles[0].segments


def test_what_the_chat_agent_says_is_markdown() -> None:
    assert (
        shown({"type": "text", "content": "a **b**", "speak": True}, "chat")[0].type == "markdown"
    )


def test_its_final_answer_is_markdown_too() -> None:
    live = LiveRequest("key", "r")
    change(
        live, SetDisplay(message=AgentMessage({"type": "text", "content": "**b**"}, REF, "chat"))
    )
    assert live.thread.bubbles[0].segments[0].type == "markdown"


@pytest.mark.parametrize(
    ("content", "source"),
    [
        ({"type": "text", "content": "a **b**"}, "list"),
        ({"type": "text", "content": "a **b**", "kind": "error"}, "chat"),
        ("a **b**", "system"),
    ],
)
def test_any_other_text_stays_text(content: object, source: str) -> None:
    assert shown(content, source)[0].type == "text"
