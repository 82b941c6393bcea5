"""Who may reach which conversation. All access goes through here (Invariant 8)."""

from __future__ import annotations

import re

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import transaction
from django.http import Http404
from structlog.contextvars import bind_contextvars

from chat.models import KEY_PATTERN, Conversation

_KEY = re.compile(rf"{KEY_PATTERN}\Z")

type AnyUser = AbstractBaseUser | AnonymousUser


def get_conversation(user: AnyUser, key: str) -> Conversation:
    """The user's own conversation. Raises `Http404` for every other key, existing or not."""
    conversation = find_conversation(user, key)
    if conversation is None:
        raise Http404("No such conversation")
    # Every log line of this HTTP request says so from now on.
    bind_contextvars(conversation=conversation.pk)
    return conversation


def find_conversation(user: AnyUser, key: str) -> Conversation | None:
    """The user's own conversation, or `None`."""
    if not user.is_authenticated or not _KEY.match(key):
        return None
    return Conversation.objects.filter(user_id=user.pk, key=key).first()


def newest_conversation(user: AnyUser) -> Conversation:
    """Where the user was last; the first visit makes one, and two at once make one as well."""
    pk = int(user.pk or 0)
    mine = Conversation.objects.filter(user_id=pk).order_by("-last_activity_at", "-pk")
    newest = mine.first()
    if newest is not None:
        return newest
    with transaction.atomic():
        owner = get_user_model().objects.select_for_update().get(pk=pk)
        return mine.first() or Conversation.objects.create(user=owner)
