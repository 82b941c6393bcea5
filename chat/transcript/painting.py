"""Draws a request: renders what is due of it, and says what open pages need. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from chat.display.content import raw_text
from chat.models import Origin
from chat.transcript import appearance
from chat.transcript.drawing import USER_STEP, BlockPatch, Changes, Drawing, Render
from chat.transcript.live_request import LiveRequest
from chat.transcript.thread import Bubble


def heavy(request: LiveRequest, chars: int) -> list[Render]:
    """The renders that are due and deal with more than so many characters."""
    renders = []
    for bubble in request.thread.bubbles:
        drawing = request.drawings.get(bubble.step)
        if bubble.step not in request.to_draw or drawing is None or drawing.exact:
            continue
        settled = request.is_settled(bubble)
        if _chars(bubble) - (0 if settled else drawing.chars) > chars:
            copies = [replace(segment) for segment in bubble.segments]
            renders.append(Render(bubble.step, copies, None if settled else drawing.renderer))
    return renders


def draw(request: LiveRequest, renders: Iterable[Render] = ()) -> Changes:
    """Render what is due and say what pages need. `renders`: the heavy ones, already run.

    A request without a place in the transcript is not shown yet, but its rows need the render.
    """
    ready = _take_patches(request, renders)
    changes = Changes()
    if request.seq is None:
        for bubble in request.thread.bubbles:
            if bubble.step in request.to_draw and not bubble.empty:
                _render(request, bubble, ready.get(bubble.step))
        return changes
    due, request.to_draw = request.to_draw, set()
    if request.origin != Origin.AGENT:
        _draw_question(request, changes)
    for bubble in request.thread.bubbles:
        if bubble.step in due or _lacks_exact(request, bubble):
            _render(request, bubble, ready.get(bubble.step))
        _draw_bubble(request, bubble, changes)
    for step in request.drawings.keys() - {bubble.step for bubble in request.thread.bubbles}:
        _hide(request, step, changes)
    return changes


def _take_patches(request: LiveRequest, renders: Iterable[Render]) -> dict[int, Render]:
    """Take over the heavy renders of growing bubbles; gives the exact ones by their steps."""
    exact = {}
    for render in renders:
        drawing = request.drawings[render.step]
        if render.renderer is None:
            exact[render.step] = render
        elif render.patch is not None and render.renderer is drawing.renderer:
            drawing.take_patch(render.patch)
    return exact


def _draw_question(request: LiveRequest, changes: Changes) -> None:
    looks = appearance.looks(request, appearance.QUESTION)
    if looks == request.question_looks:
        return
    if request.question_looks is not None:
        request.to_save.add(USER_STEP)
    request.question_looks = looks
    changes.bubbles.append(appearance.question_view(request, looks))


def _draw_bubble(request: LiveRequest, bubble: Bubble, changes: Changes) -> None:
    drawing = request.drawings.setdefault(bubble.step, Drawing())
    if bubble.empty:
        _hide(request, bubble.step, changes)
        return
    looks = appearance.looks(request, bubble)
    if looks != drawing.looks:
        if drawing.looks is not None:
            request.to_save.add(bubble.step)
        drawing.looks, drawing.shown = looks, True
        changes.bubbles.append(appearance.answer_view(request, bubble.step, looks))
    else:
        uid = request.uid(bubble.step)
        changes.blocks += [BlockPatch(uid, i, h) for i, h in drawing.changed_blocks.items()]
    drawing.changed_blocks = {}


def _hide(request: LiveRequest, step: int, changes: Changes) -> None:
    drawing = request.drawings[step]
    if drawing.shown:
        changes.gone.append(request.uid(step))
    if drawing.shown or drawing.blocks:
        drawing.restart()
        drawing.blocks, drawing.changed_blocks, drawing.shown = [], {}, False


def _render(request: LiveRequest, bubble: Bubble, ready: Render | None) -> None:
    drawing = request.drawings.setdefault(bubble.step, Drawing())
    if not request.is_settled(bubble):
        force = bubble.step in request.overdue
        request.overdue.discard(bubble.step)
        drawing.take_patch(drawing.renderer.update(bubble.segments, force=force))
        drawing.chars = _chars(bubble)
    elif not drawing.exact:
        if ready is None or ready.segments != bubble.segments:
            ready = Render(bubble.step, bubble.segments, None)
            ready.run()
        if drawing.take_exact(ready) or drawing.words != raw_text(bubble.segments):
            request.to_save.add(bubble.step)


def _lacks_exact(request: LiveRequest, bubble: Bubble) -> bool:
    drawing = request.drawings.get(bubble.step)
    exact = drawing is not None and drawing.exact
    return request.is_settled(bubble) and not bubble.empty and not exact


def _chars(bubble: Bubble) -> int:
    return sum(len(segment.text) for segment in bubble.segments)
