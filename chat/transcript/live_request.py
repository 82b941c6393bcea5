"""One request as its owner holds it in memory: its state, its bubbles, and what is unsaved.

Pure: no database and no event loop. `chat.link` renders, publishes and saves from here.
"""

from __future__ import annotations

from datetime import datetime

from django.utils.timezone import now

from chat.display.content import Segment
from chat.display.words import clean_text
from chat.models import UNFINISHED, Origin, Request, RequestState, Role
from chat.transcript import appearance
from chat.transcript.drawing import USER_STEP, Drawing, Looks
from chat.transcript.reading import StoredRequest
from chat.transcript.requests import Signal, accepts_output, advance
from chat.transcript.saving import MessageRow, RequestRow
from chat.transcript.store import message_uid
from chat.transcript.thread import AppendMode, Bubble, BubbleRow, Thread

MAX_REASON_CHARS = 300
"""Of the text that says why a request ended: it may be an error's own, of any length."""


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
        created_at: datetime | None = None,
    ) -> None:
        self.conversation_key = conversation_key
        self.request_id = request_id
        self.text = clean_text(text)
        self.origin = origin
        self.state = state
        self.reason = ""
        self.client_id = ""
        self.seq: int | None = None
        self.stored = False
        self.stop_requested = False
        self.attempted = False
        """Whether it may have reached the agent-server."""
        self.retried = False
        self.upstream_at_ms: int | None = None
        self.created_at = created_at or now()
        self.ended_at: datetime | None = None
        self.announced = False
        self.thread = Thread()
        self.drawings: dict[int, Drawing] = {}
        self.to_draw = {USER_STEP}
        self.to_save = {USER_STEP}
        self.unsaved = True
        self.version = 0
        """Grows whenever a bubble's content changes."""
        self.question_looks: Looks | None = None
        self.overdue: set[int] = set()
        """The steps whose held back end is due."""

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
            created_at=row.created_at,
        )
        live._take_row(row)
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

    def _take_row(self, row: Request) -> None:
        self.client_id, self.seq, self.stored = row.client_id or "", row.seq, True
        self.reason, self.stop_requested, self.retried = row.reason, row.stop_requested, row.retried
        self.upstream_at_ms, self.ended_at = row.upstream_at_ms, row.ended_at
        self.to_draw, self.to_save, self.unsaved = set(), set(), False
        self.announced = self.finished
        self.question_looks = appearance.looks(self, appearance.QUESTION)

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

    @property
    def lagging(self) -> bool:
        """Whether the end of a very long block is held back until more of it comes."""
        return any(
            self.drawings[bubble.step].renderer.lagging
            for bubble in self.thread.bubbles[-1:]
            if bubble.step in self.drawings and not self.is_settled(bubble)
        )

    def touched(self, steps: set[int], *, anew: bool = False) -> None:
        """Mark bubbles whose content changed; `anew` when it was replaced as a whole."""
        for step in steps:
            drawing = self.drawings.setdefault(step, Drawing())
            drawing.exact = False
            drawing.chars = 0 if anew else drawing.chars
        self.version += bool(steps)
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
            self.reason = clean_text(reason)[:MAX_REASON_CHARS]
            self.ended_at = now()
            self.touched(self.thread.complete())
        steps = {bubble.step for bubble in self.thread.bubbles}
        self.to_draw |= steps | {USER_STEP}
        self.to_save |= steps | {USER_STEP}
        return True

    def begin_again(self) -> None:
        """It was accepted twice and runs anew: that is shown instead of the first run, once."""
        if not self.thread.bubbles:
            return
        thread = Thread()
        if self.finished:
            thread.complete()
        self.replace_thread(thread)

    def replace_thread(self, thread: Thread) -> None:
        """Show what the agent-server's log has for this request instead of what we had."""
        steps = {bubble.step for bubble in self.thread.bubbles + thread.bubbles}
        self.thread = thread
        self.touched(steps)
        for step in steps:
            self.drawings[step].restart()

    def fail_with(self, text: str) -> None:
        """Say why a request failed that has shown nothing."""
        segment = Segment("text", clean_text(text), kind="error")
        self.touched(self.thread.append(segment, AppendMode.BLOCK))

    def uid(self, step: int) -> str:
        return message_uid(self.conversation_key, self.request_id, step)

    def take_rows(self) -> tuple[RequestRow, list[MessageRow]]:
        """What has to be written, as rows; it counts as saved from here on."""
        due, self.to_save, self.unsaved = self.to_save, set(), False
        return appearance.rows(self, due)

    def put_back(self, messages: list[MessageRow]) -> None:
        """The write failed: all of it is due again."""
        self.unsaved = True
        self.to_save |= {row.step for row in messages}

    def spoken(self) -> str:
        """The end of the request as a screen reader should speak it, once; when it is drawn."""
        shown = [bubble.step for bubble in self.thread.bubbles if not bubble.empty]
        words = (self.drawings[step].words for step in shown)
        return "\n\n".join(filter(None, words)) or appearance.note(self, USER_STEP)

    def redraw(self, step: int) -> None:
        """Show a bubble again as a whole: its row was changed by somebody else."""
        if step == USER_STEP:
            self.question_looks = None
        elif step in self.drawings:
            self.drawings[step].looks = None
        self.to_draw.add(step)

    def catch_up(self) -> None:
        """Nothing more has come for a while: draw what was held back."""
        if self.lagging:
            step = self.thread.bubbles[-1].step
            self.overdue.add(step)
            self.touched({step})

    def is_settled(self, bubble: Bubble) -> bool:
        """Whether no more is expected in this bubble, so that its exact render is due."""
        return self.finished or bubble is not self.thread.bubbles[-1]
