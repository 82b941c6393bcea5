"""Rows for tests: a conversation, and the messages of a question and its answer."""

from __future__ import annotations

from datetime import datetime
from itertools import count

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.utils.timezone import now

from chat.models import Conversation, Message, Request, RequestState, Role

_numbers = count(1)


def user(username: str, **fields: object) -> User:
    """The user of that name, made if need be. No password: tests use `force_login`."""
    found, _ = get_user_model().objects.get_or_create(username=username, defaults=fields)
    assert isinstance(found, User)
    return found


def conversation(username: str = "alice", **fields: object) -> Conversation:
    made: Conversation = Conversation.objects.create(user=user(username), **fields)
    return made


def request(
    of: Conversation,
    state: RequestState = RequestState.FINAL,
    *,
    upstream_at_ms: int | None = None,
) -> Request:
    """A request at the end of the conversation, numbered as the site would number it."""
    of.refresh_from_db(fields=["next_seq"])
    made: Request = Request.objects.create(
        conversation=of,
        request_id=f"request-{next(_numbers)}",
        seq=of.next_seq,
        state=state,
        upstream_at_ms=upstream_at_ms,
    )
    of.next_seq += 1
    of.save(update_fields=["next_seq"])
    return made


def message(
    of: Request, role: Role = Role.USER, *, step: int = 0, at: datetime | None = None
) -> Message:
    """One bubble of a request; step 0 is the question."""
    made: Message = Message.objects.create(
        uid=f"uid-{next(_numbers)}",
        conversation=of.conversation,
        request=of,
        role=role,
        seq=of.seq,
        step=step,
        text=f"{role} {of.seq}.{step}",
        revision=1,
        created_at=at or now(),
    )
    return made


def exchange(
    of: Conversation,
    state: RequestState = RequestState.FINAL,
    *,
    at: datetime | None = None,
    upstream_at_ms: int | None = None,
) -> Request:
    """A question and its answer."""
    made = request(of, state, upstream_at_ms=upstream_at_ms)
    message(made, Role.USER, at=at)
    message(made, Role.AGENT, step=1, at=at)
    return made
