"""What a template needs to draw one bubble, whether it comes from a row or from memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString, mark_safe

from chat.models import Message, MessageState, Origin, Request, RequestState

RETRIABLE = (RequestState.CANCELLED, RequestState.INTERRUPTED, RequestState.FAILED)


@dataclass(frozen=True, slots=True)
class BubbleView:
    """One bubble of the page. `html` was made safe by `chat.display` before it was stored."""

    uid: str
    role: str
    state: str
    order: str
    request_id: str
    source: str
    source_icon: str
    html: SafeString
    note: str
    can_retry: bool
    created_at: datetime
    client_id: str = ""
    """Of a question: what its page called it, by which a page that never heard back knows it."""

    @property
    def step(self) -> int:
        """Its number within its request; 0 is the question."""
        return int(self.order.rpartition(".")[2])

    @property
    def working(self) -> bool:
        """Whether text is still expected here: the only reason for a sign of life."""
        return self.state == MessageState.STREAMING


def order_of(seq: int, step: int) -> str:
    """The place of a bubble as text that sorts like the pair."""
    return f"{seq:012d}.{step:03d}"


def may_retry(request: Request | None, note: str) -> bool:
    """Retry stands where the note says why: on a request of this site that did not end well."""
    return (
        request is not None
        and bool(note)
        and request.origin == Origin.USER
        and request.state in RETRIABLE
        and not request.retried
    )


def view_of(message: Message) -> BubbleView:
    """The bubble that a stored row stands for; its request must have been selected with it."""
    return BubbleView(
        uid=message.uid,
        role=message.role,
        state=message.state,
        order=order_of(message.seq, message.step),
        request_id=message.request.request_id if message.request else "",
        source=message.source,
        source_icon=message.source_icon,
        html=mark_safe(message.html),  # noqa: S308 - sanitised by chat.display when stored
        note=message.note,
        can_retry=may_retry(message.request, message.note),
        created_at=message.created_at,
        client_id=(message.request.client_id or "") if message.request and not message.step else "",
    )
