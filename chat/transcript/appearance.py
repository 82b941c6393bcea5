"""How a request in memory looks: its bubbles as a page draws them, and as the rows keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chat.display.blocks import render_user_text, wrap_blocks
from chat.display.content import raw_text, segment_to_json
from chat.models import MessageState, Origin, Role
from chat.transcript.bubbles import RETRIABLE, BubbleView, order_of
from chat.transcript.drawing import USER_STEP, Looks
from chat.transcript.requests import bubble_states, reason_text
from chat.transcript.saving import MessageRow, RequestRow
from chat.transcript.thread import Bubble

if TYPE_CHECKING:
    from chat.transcript.live_request import LiveRequest


QUESTION = Bubble(step=USER_STEP)
"""Stands for the question, where its looks are asked for."""


def looks(request: LiveRequest, bubble: Bubble) -> Looks:
    """All of a bubble but its text."""
    why = note(request, bubble.step)
    own = request.origin == Origin.USER and not request.retried
    return Looks(
        state=_state(request, bubble.step),
        source=bubble.label,
        source_icon=bubble.source_icon,
        note=why,
        can_retry=own and bool(why) and request.state in RETRIABLE,
    )


def note(request: LiveRequest, step: int) -> str:
    """Why a request did not end well: on its last bubble that shows anything."""
    if request.state not in RETRIABLE or step != _last_shown(request):
        return ""
    return reason_text(request.reason)


def question_view(request: LiveRequest, its: Looks) -> BubbleView:
    """The question."""
    uid = request.uid(USER_STEP)
    return BubbleView(
        uid=uid,
        role=Role.USER,
        order=order_of(request.seq or 0, USER_STEP),
        request_id=request.request_id,
        html=wrap_blocks(uid, [render_user_text(request.text)]),
        created_at=request.created_at,
        client_id=request.client_id,
        **its._asdict(),
    )


def answer_view(request: LiveRequest, step: int, its: Looks) -> BubbleView:
    """One bubble of the answer, as last drawn."""
    uid, drawing = request.uid(step), request.drawings[step]
    return BubbleView(
        uid=uid,
        role=Role.AGENT,
        order=order_of(request.seq or 0, step),
        request_id=request.request_id,
        html=wrap_blocks(uid, drawing.blocks),
        created_at=drawing.created_at,
        **its._asdict(),
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
        created_at=request.created_at,
        ended_at=request.ended_at,
    )
    messages = [_agent_row(request, step) for step in sorted(steps) if step != USER_STEP]
    if USER_STEP in steps and request.origin != Origin.AGENT:
        messages.append(
            MessageRow(
                uid=request.uid(USER_STEP),
                request_id=request.request_id,
                role=Role.USER,
                state=_state(request, USER_STEP),
                step=USER_STEP,
                note=note(request, USER_STEP),
            )
        )
    return own, messages


def _agent_row(request: LiveRequest, step: int) -> MessageRow:
    drawing, bubble = request.drawings[step], _bubble(request, step)
    uid = request.uid(step)
    return MessageRow(
        uid=uid,
        request_id=request.request_id,
        role=Role.AGENT,
        state=_state(request, step),
        step=step,
        source=bubble.label,
        source_icon=bubble.source_icon,
        segments=[segment_to_json(segment) for segment in bubble.segments],
        html="" if bubble.empty else str(wrap_blocks(uid, drawing.blocks)),
        # The words without markup are found with the exact render: not each time on the loop.
        text=drawing.words if drawing.exact else raw_text(bubble.segments),
        note=note(request, step),
        created_at=drawing.created_at,
    )


def _bubble(request: LiveRequest, step: int) -> Bubble:
    return next((b for b in request.thread.bubbles if b.step == step), Bubble(step=step))


def _state(request: LiveRequest, step: int) -> MessageState:
    """Only the newest bubble carries how the request stands; the ones before are done."""
    user, agent = bubble_states(request.state, answered=request.answered)
    if step == USER_STEP:
        return user
    return agent if step == _last_shown(request) else MessageState.FINAL


def _last_shown(request: LiveRequest) -> int:
    """The last bubble that shows anything; the question where nothing was shown in answer."""
    shown = (bubble.step for bubble in reversed(request.thread.bubbles) if not bubble.empty)
    return next(shown, USER_STEP)
