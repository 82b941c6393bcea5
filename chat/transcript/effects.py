"""What one event does to the request that it belongs to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chat.agentserver.events import (
    ActionTaken,
    AgentMessage,
    AppendDisplay,
    ChoiceRequested,
    CommandComplete,
    DisplayInfo,
    Event,
    InteractionRequested,
    RequestCancelled,
    SetDisplay,
    UserRequest,
)
from chat.display.content import Segment, parse_content
from chat.transcript.live_request import LiveRequest
from chat.transcript.requests import Signal, cancellation, completion
from chat.transcript.thread import AppendMode, ephemeral, parse_mode

CHAT_AGENT = "chat"
STOPPED = "Stopped"
NOT_COMPLETED = "Not completed"
NOT_HANDLED = "The agent could not handle this request."


def key_of(event: Event) -> str | None:
    """The id of the request that the event belongs to."""
    match event:
        case SetDisplay(message=message) | AppendDisplay(message=message):
            return message.ref.key
        case (
            UserRequest(ref=ref)
            | DisplayInfo(ref=ref)
            | CommandComplete(ref=ref)
            | ChoiceRequested(ref=ref)
            | ActionTaken(ref=ref)
        ):
            return ref.key
        case InteractionRequested(ref=ref):
            return ref.key if ref else None
        case _:
            return None


def is_shown(event: Event) -> bool:
    """Whether it has a place in a transcript: toasts and inline notices do not yet."""
    match event:
        case SetDisplay(message=message) | AppendDisplay(message=message):
            return not ephemeral(message.kind)
        case _:
            return True


def change(live: LiveRequest, event: Event) -> None:
    """Apply one event to the request that it belongs to."""
    if not is_shown(event):
        return
    match event:
        case UserRequest():
            live.signal(Signal.STARTED)
            live.begin_again()
        case DisplayInfo(source=source, action=action):
            live.signal(Signal.ACCEPTED)
            live.touched(live.thread.set_info(source, action))
        case SetDisplay(message=message):
            live.signal(Signal.OUTPUT)
            segment = _content(message)
            steps = live.thread.set_display(segment, message.source, message.source_icon)
            live.touched(steps, anew=True)
        case AppendDisplay():
            _append(live, event)
        case CommandComplete():
            _complete(live, event)
        case InteractionRequested() if live.finished:
            return
        case ChoiceRequested() | InteractionRequested():
            _ask(live, event.message, event.choices, event.source)
        case _:
            return


def cancel(live: LiveRequest, event: RequestCancelled) -> None:
    """End a request that was cancelled, by whomever."""
    live.signal(cancellation(event.reason), STOPPED if event.reason == "user" else event.reason)


def _append(live: LiveRequest, event: AppendDisplay) -> None:
    message, mode = event.message, parse_mode(event.mode)
    if live.finished and mode is AppendMode.TEMPORARY:
        return  # nothing would ever take it away
    live.signal(Signal.OUTPUT)
    segment = _content(message)
    live.touched(live.thread.append(segment, mode, message.source, message.source_icon))


def _content(message: AgentMessage) -> Segment | None:
    """What a message shows. The chat agent writes markdown and calls it text (WIRE.md 12)."""
    segment = parse_content(message.content)
    if segment and segment.type == "text" and segment.kind is None and message.source == CHAT_AGENT:
        return replace(segment, type="markdown")
    return segment


def _complete(live: LiveRequest, event: CommandComplete) -> None:
    """End a request, with a sentence where it would otherwise end without one."""
    signal = completion(event)
    lasting = any(bubble.lasting for bubble in live.thread.bubbles)
    if signal is Signal.FAILED and not lasting and not live.finished:
        live.fail_with(event.last_error or NOT_HANDLED)
    live.signal(signal, {Signal.CANCELLED: STOPPED, Signal.FAILED: NOT_COMPLETED}.get(signal, ""))


def _ask(live: LiveRequest, message: str, choices: Sequence[str], source: str) -> None:
    """Show a question in its request's bubble."""
    lines = [message, *(f"- {choice}" for choice in choices)]
    segment = parse_content({"type": "text", "content": lines, "kind": "info"})
    live.touched(live.thread.append(segment, AppendMode.BLOCK, source))
