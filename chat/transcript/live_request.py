"""One request as its owner holds it in memory: its state, its bubbles, and what is unsaved.

Pure: no database and no event loop. `chat.link.flusher` renders, publishes and saves from here.
"""

from __future__ import annotations

from datetime import datetime

from django.utils.timezone import now

from chat.display.blocks import render_exact
from chat.display.content import Segment, plain_text
from chat.display.stream import StreamRenderer
from chat.models import UNFINISHED, Origin, RequestState, Role
from chat.transcript import appearance
from chat.transcript.drawing import USER_STEP, BlockPatch, Changes, Drawing
from chat.transcript.reading import StoredRequest
from chat.transcript.requests import Signal, accepts_output, advance
from chat.transcript.saving import MessageRow, RequestRow
from chat.transcript.store import message_uid
from chat.transcript.thread import AppendMode, Bubble, BubbleRow, Thread


class LiveRequest:
    """A request under way. Every change marks what has to be drawn and saved."""

    def __init__(
        self,
        conversation_key: str,
        request_id: str,
        *,
        text: str = "",
        origin: Origin = Origin.USER,
        state: RequestState = RequestState.PENDING,
        seq: int | None = None,
        stored: bool = False,
    ) -> None:
        self.conversation_key = conversation_key
        self.request_id = request_id
        self.text = text
        self.origin = origin
        self.state = state
        self.reason = ""
        self.seq = seq
        self.stored = stored
        self.stop_requested = False
        self.retried = False
        self.upstream_at_ms: int | None = None
        self.created_at = now()
        self.ended_at: datetime | None = None
        self.announced = False
        self.thread = Thread()
        self.drawings: dict[int, Drawing] = {}
        self.to_draw: set[int] = set()
        self.to_save: set[int] = set()
        self.unsaved = not stored

    @classmethod
    def from_stored(cls, conversation_key: str, stored: StoredRequest) -> LiveRequest:
        """Take up a request from its rows: the bubbles go on where the last owner left them."""
        row = stored.request
        live = cls(
            conversation_key,
            row.request_id,
            text=row.text,
            origin=Origin(row.origin),
            state=RequestState(row.state),
            seq=row.seq,
            stored=True,
        )
        live.reason, live.stop_requested, live.retried = row.reason, row.stop_requested, row.retried
        live.upstream_at_ms, live.created_at = row.upstream_at_ms, row.created_at
        live.ended_at = row.ended_at
        answers = [message for message in stored.messages if message.role == Role.AGENT]
        live.thread = Thread.from_rows(
            (
                BubbleRow(
                    step=message.step,
                    segments=message.segments,
                    source=message.source,
                    icon=message.source_icon,
                )
                for message in answers
            ),
            completed=live.finished,
        )
        for message in answers:
            live.drawings[message.step] = Drawing(created_at=message.created_at, shown=True)
            live.to_draw.add(message.step)
        return live

    @property
    def finished(self) -> bool:
        return self.state not in UNFINISHED

    @property
    def takes_output(self) -> bool:
        return accepts_output(self.state)

    @property
    def answered(self) -> bool:
        """Whether anything is shown in answer."""
        return any(not bubble.empty for bubble in self.thread.bubbles)

    @property
    def dirty(self) -> bool:
        return bool(self.to_draw)

    @property
    def dirty_for_save(self) -> bool:
        return self.unsaved or bool(self.to_save)

    def touched(self, steps: set[int]) -> None:
        """Mark bubbles whose content changed."""
        for step in steps:
            drawing = self.drawings.setdefault(step, Drawing())
            drawing.exact = False
        self.to_draw |= steps
        self.to_save |= steps

    def signal(self, signal: Signal, reason: str = "") -> bool:
        """Move the state on; true if it changed. What is terminal stays (Invariant 5)."""
        new = advance(self.state, signal)
        if new == self.state:
            return False
        self.state = new
        self.unsaved = True
        if self.finished:
            self.reason = reason
            self.ended_at = now()
            self.touched(self.thread.complete())
        steps = {bubble.step for bubble in self.thread.bubbles}
        for drawing in self.drawings.values():
            drawing.whole = True
        self.to_draw |= steps | {USER_STEP}
        self.to_save |= steps | {USER_STEP}
        return True

    def replace_thread(self, thread: Thread) -> None:
        """Show what the agent-server's log has for this request instead of what we had."""
        steps = {bubble.step for bubble in self.thread.bubbles + thread.bubbles}
        self.thread = thread
        for step in steps:
            self.drawings.setdefault(step, Drawing()).whole = True
            self.drawings[step].renderer = StreamRenderer()
        self.touched(steps)

    def fail_with(self, text: str) -> None:
        """Say why a request failed that has shown nothing."""
        self.touched(self.thread.append(Segment("text", text, kind="error"), AppendMode.BLOCK))

    def uid(self, step: int) -> str:
        return message_uid(self.conversation_key, self.request_id, step)

    def heavy(self) -> list[tuple[int, list[Segment]]]:
        """The finished bubbles that still lack their exact render, with a copy of what they say."""
        return [
            (bubble.step, [*bubble.segments])
            for bubble in self.thread.bubbles
            if bubble.step in self.to_draw and self._is_settled(bubble)
        ]

    def draw(self, exact: dict[int, list[str]]) -> Changes:
        """Render what is due and say what pages need. `exact`: renders that were made apart."""
        changes = Changes()
        if self.seq is None:  # its place is known once it is saved; rows need the render now
            self._prerender(exact)
            return changes
        due, self.to_draw = self.to_draw, set()
        if USER_STEP in due and self.origin != Origin.AGENT:
            changes.bubbles.append(appearance.user_view(self))
        for bubble in self.thread.bubbles:
            if bubble.step in due:
                self._draw_bubble(bubble, exact.get(bubble.step), changes)
        for step in due - {USER_STEP} - {bubble.step for bubble in self.thread.bubbles}:
            if self.drawings[step].shown:
                changes.gone.append(self.uid(step))
        return changes

    def take_rows(self) -> tuple[RequestRow, list[MessageRow]]:
        """What has to be written, as rows; it counts as saved from here on."""
        due, self.to_save, self.unsaved = self.to_save, set(), False
        return appearance.rows(self, due)

    def put_back(self, messages: list[MessageRow]) -> None:
        """The write failed: all of it is due again."""
        self.unsaved = True
        self.to_save |= {row.step for row in messages}

    def plain_answer(self) -> str:
        """The finished answer as a screen reader should speak it, once."""
        return plain_text([part for bubble in self.thread.bubbles for part in bubble.segments])

    def redraw(self, step: int) -> None:
        """Show a bubble again as a whole: its row was changed by somebody else."""
        if step in self.drawings:
            self.drawings[step].whole = True
        self.to_draw.add(step)

    def _prerender(self, exact: dict[int, list[str]]) -> None:
        for bubble in self.thread.bubbles:
            if bubble.step in self.to_draw and not bubble.empty:
                drawing = self.drawings.setdefault(bubble.step, Drawing())
                self._render(bubble, drawing, exact.get(bubble.step))

    def _draw_bubble(self, bubble: Bubble, exact: list[str] | None, changes: Changes) -> None:
        drawing = self.drawings.setdefault(bubble.step, Drawing())
        if bubble.empty:
            drawing.blocks = []
            if drawing.shown:
                changes.gone.append(self.uid(bubble.step))
                drawing.shown = False
            drawing.whole = True
            return
        self._render(bubble, drawing, exact)
        if drawing.whole or not drawing.shown:
            changes.bubbles.append(appearance.agent_view(self, bubble, drawing))
            drawing.whole, drawing.shown = False, True
        else:
            uid = self.uid(bubble.step)
            changes.blocks += [BlockPatch(uid, i, h) for i, h in drawing.changed_blocks.items()]
        drawing.changed_blocks = {}

    def _render(self, bubble: Bubble, drawing: Drawing, exact: list[str] | None) -> None:
        if exact is None and self._is_settled(bubble):
            exact = render_exact(bubble.segments)
        if exact is not None:
            if exact != drawing.blocks:
                drawing.whole = True
            drawing.blocks, drawing.exact = exact, True
            return
        patch = drawing.renderer.update(bubble.segments)
        drawing.blocks = list(drawing.renderer.blocks)
        if patch.shrunk:
            drawing.whole = True
        drawing.changed_blocks.update(patch.changed)

    def _is_settled(self, bubble: Bubble) -> bool:
        return self.finished or bubble is not self.thread.bubbles[-1]
