"""The rows behind the site: processes, conversations, requests and messages.

`chat.transcript.store` is the only writer of requests and messages; `chat.link.lease` the only
writer of processes and of the owner columns.
"""

from __future__ import annotations

import secrets

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.utils.timezone import now

KEY_PATTERN = r"(?!\.{1,2}\Z)[A-Za-z0-9_.-]{1,128}"
"""What a conversation's key looks like in an address: 1-128 of these, but not `.` or `..`."""


def new_key() -> str:
    """A key for a new conversation: 96 random bits, so it cannot be guessed."""
    return secrets.token_urlsafe(12)


class Process(models.Model):
    """One running server process. Alive while `beat_at` (the database's clock) is recent."""

    id = models.UUIDField(primary_key=True)
    channel = models.CharField(max_length=100)
    owns = models.BooleanField(
        default=True, db_default=True, help_text="Whether it may be asked to run links."
    )
    machine = models.CharField(max_length=64, blank=True, default="", db_default="")
    run = models.CharField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text="Tells it from every other program of its machine.",
    )
    started_at = models.DateTimeField(default=now)
    beat_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "processes"

    def __str__(self) -> str:
        return str(self.id)


class LinkState(models.TextChoices):
    """Where a conversation's upstream connection is in its life (DESIGN: The link's life)."""

    CLOSED = "closed"
    CONNECTING = "connecting"
    JOINING = "joining"
    JOINED = "joined"
    LOST = "lost"
    STOPPED = "stopped"
    CLOSING = "closing"


class Conversation(models.Model):
    """A user's identity-bearing chat with its history."""

    key = models.CharField(
        max_length=128,
        unique=True,
        default=new_key,
        validators=[RegexValidator(rf"\A{KEY_PATTERN}\Z")],
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations"
    )
    name = models.CharField(max_length=256, blank=True)
    created_at = models.DateTimeField(default=now, editable=False)
    last_activity_at = models.DateTimeField(default=now, db_index=True)

    upstream_id = models.CharField(max_length=200, blank=True)
    history_cursor = models.BigIntegerField(
        default=-1, help_text="The newest `seq` of the agent-server's display log that was merged."
    )
    backfill_after_ms = models.BigIntegerField(
        default=0,
        help_text="Requests that the agent-server dates at or before this (ms, its clock) "
        "and that are unknown here were cleared or pruned: they are never brought back.",
    )

    revision = models.BigIntegerField(default=0)
    cleared_revision = models.BigIntegerField(default=0)
    next_seq = models.BigIntegerField(default=1)

    owner = models.ForeignKey(
        Process, null=True, blank=True, on_delete=models.SET_NULL, related_name="conversations"
    )
    owner_epoch = models.BigIntegerField(default=0)
    link_state = models.CharField(
        max_length=12, choices=LinkState.choices, default=LinkState.CLOSED
    )
    link_error = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return self.name or self.key


class RequestState(models.TextChoices):
    """The states of a request. The last four are terminal: nothing leaves them (Invariant 5)."""

    PENDING = "pending"  # stored here, not known to be with the agent-server
    SENT = "sent"  # in the agent-server's queue
    RUNNING = "running"
    FINAL = "final"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


UNFINISHED = (RequestState.PENDING, RequestState.SENT, RequestState.RUNNING)


class Origin(models.TextChoices):
    """Who began a request: the user of this site, another client, or an agent unasked."""

    USER = "user"
    REMOTE = "remote"
    AGENT = "agent"


class Request(models.Model):
    """One thing that was asked, and the key to all that is shown in answer."""

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="requests"
    )
    request_id = models.CharField(max_length=200)
    client_id = models.CharField(max_length=64, null=True, blank=True)
    origin = models.CharField(max_length=6, choices=Origin.choices, default=Origin.USER)
    text = models.TextField(blank=True)
    seq = models.BigIntegerField()
    state = models.CharField(
        max_length=11, choices=RequestState.choices, default=RequestState.PENDING
    )
    reason = models.CharField(max_length=300, blank=True)
    stop_requested = models.BooleanField(default=False)
    retried = models.BooleanField(default=False)
    upstream_at_ms = models.BigIntegerField(
        null=True, blank=True, help_text="When the agent-server took or began it (ms, its clock)."
    )
    created_at = models.DateTimeField(default=now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["conversation", "request_id"], name="request_id_once_per_conversation"
            ),
            models.UniqueConstraint(
                fields=["conversation", "client_id"], name="client_id_once_per_conversation"
            ),
        )
        indexes = (models.Index(fields=["conversation", "state"]),)

    def __str__(self) -> str:
        return self.request_id


class Role(models.TextChoices):
    USER = "user"
    AGENT = "agent"
    NOTICE = "notice"


class MessageState(models.TextChoices):
    """What a bubble does: `pending` and `queued` are a user's, `streaming` an agent's."""

    PENDING = "pending"
    QUEUED = "queued"
    STREAMING = "streaming"
    FINAL = "final"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Message(models.Model):
    """One bubble. Ordered by (`seq`, `step`): a reply shares its question's `seq`."""

    uid = models.CharField(
        max_length=32, unique=True, help_text="Names the bubble in a page: same bubble, same uid."
    )
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="messages"
    )
    request = models.ForeignKey(
        Request, null=True, blank=True, on_delete=models.CASCADE, related_name="messages"
    )
    role = models.CharField(max_length=6, choices=Role.choices)
    state = models.CharField(
        max_length=11, choices=MessageState.choices, default=MessageState.FINAL
    )
    seq = models.BigIntegerField()
    step = models.PositiveSmallIntegerField(default=0)
    source = models.CharField(max_length=200, blank=True)
    source_icon = models.CharField(max_length=32, blank=True)
    segments = models.JSONField(default=list, blank=True)
    html = models.TextField(blank=True)
    text = models.TextField(blank=True)
    note = models.CharField(max_length=300, blank=True)
    revision = models.BigIntegerField()
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["conversation", "seq", "step"], name="one_message_per_place"
            ),
        )
        indexes = (
            models.Index(fields=["conversation", "revision"]),
            models.Index(fields=["conversation", "created_at"]),
        )

    def __str__(self) -> str:
        return f"{self.role} {self.seq}.{self.step}"
