"""How a request in memory looks: its bubbles as a page draws them, and as the rows keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chat.display.blocks import render_user_text, wrap_blocks
from chat.display.content import plain_text, segment_to_json
from chat.models import MessageState, Origin, Role
from chat.transcript.bubbles import RETRIABLE, BubbleView, order_of
from chat.transcript.drawing import USER_STEP, Drawing
from chat.transcript.requests import bubble_states, reason_text
from chat.transcript.saving import MessageRow, RequestRow
from chat.transcript.thread import Bubble

if TYPE_CHECKING:
    from chat.transcript.live_request import LiveRequest


def user_view(request: LiveRequest) -> BubbleView:
    """The question."""
    uid, note = request.uid(USER_STEP), _note(request, USER_STEP)
    return BubbleView(
        uid=uid,
        role=Role.USER,
        state=_user_state(request),
        order=order_of(request.seq or 0, USER_STEP),
        request_id=request.request_id,
        source="",
        source_icon="",
        html=wrap_blocks(uid, [render_user_text(request.text)]),
        note=note,
        can_retry=_may_retry(request, note),
        created_at=request.created_at,
    )


def agent_view(request: LiveRequest, bubble: Bubble, drawing: Drawing) -> BubbleView:
    """One bubble of the answer, as last drawn."""
    uid, note = request.uid(bubble.step), _note(request, bubble.step)
    return BubbleView(
        uid=uid,
        role=Role.AGENT,
        state=_agent_state(request, bubble.step),
        order=order_of(request.seq or 0, bubble.step),
        request_id=request.request_id,
        source=bubble.label,
        source_icon=bubble.source_icon,
        html=wrap_blocks(uid, drawing.blocks),
        note=note,
        can_retry=_may_retry(request, note),
        created_at=drawing.created_at,
    )


def rows(request: LiveRequest, steps: set[int]) -> tuple[RequestRow, list[MessageRow]]:
    """The request's row, and those of the bubbles at `steps`."""
    own = RequestRow(
        request_id=request.request_id,
        state=request.state,
        reason=request.reason,
        origin=request.origin,
        text=request.text,
        stored=request.stored,
        upstream_at_ms=request.upstream_at_ms,
        ended_at=request.ended_at,
    )
    messages = [_agent_row(request, step) for step in sorted(steps) if step != USER_STEP]
    if USER_STEP in steps and request.origin != Origin.AGENT:
        messages.append(
            MessageRow(
                uid=request.uid(USER_STEP),
                request_id=request.request_id,
                role=Role.USER,
                state=_user_state(request),
                step=USER_STEP,
                note=_note(request, USER_STEP),
            )
        )
    return own, messages


def _agent_row(request: LiveRequest, step: int) -> MessageRow:
    drawing = request.drawings[step]
    bubble = next((b for b in request.thread.bubbles if b.step == step), Bubble(step=step))
    uid = request.uid(step)
    return MessageRow(
        uid=uid,
        request_id=request.request_id,
        role=Role.AGENT,
        state=_agent_state(request, step),
        step=step,
        source=bubble.label,
        source_icon=bubble.source_icon,
        segments=[segment_to_json(segment) for segment in bubble.segments],
        html="" if bubble.empty else str(wrap_blocks(uid, drawing.blocks)),
        text=plain_text(bubble.segments),
        note=_note(request, step),
        created_at=drawing.created_at,
    )


def _agent_state(request: LiveRequest, step: int) -> MessageState:
    """Only the newest bubble carries how the request stands; the ones before are done."""
    bubbles = request.thread.bubbles
    if bubbles and step != bubbles[-1].step:
        return MessageState.FINAL
    return bubble_states(request.state)[1]


def _user_state(request: LiveRequest) -> MessageState:
    return bubble_states(request.state, answered=request.answered)[0]


def _note(request: LiveRequest, step: int) -> str:
    """Why a request did not end well: on its last bubble that shows anything."""
    if request.state not in RETRIABLE:
        return ""
    shown = [bubble.step for bubble in request.thread.bubbles if not bubble.empty]
    place = shown[-1] if shown else USER_STEP
    return reason_text(request.reason) if step == place else ""


def _may_retry(request: LiveRequest, note: str) -> bool:
    own = request.origin == Origin.USER and not request.retried
    return own and bool(note) and request.state in RETRIABLE
