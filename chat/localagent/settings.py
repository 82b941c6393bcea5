"""Every wait and limit of the embedded agent-server, so that a test can shorten it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Times in seconds; the defaults are what the real server was seen to do (WIRE.md 13)."""

    grace_s: float = 30
    """After the last client has left: what is queued is cancelled, questions get their default."""
    idle_s: float = 300
    """After the last client has left: the conversation is unloaded."""
    drain_s: float = 30
    """After SIGTERM, and at a deletion: how long a running command may still take."""
    interaction_timeout_s: float = 600
    """An unanswered question gets its default."""
    ping_interval_s: float = 30
    """A socket that has not answered the last ping by the next one is cut off."""
    coalesce_s: float = 0.1
    """The queue's snapshots are sent at most this often."""
    word_delay_s: float = 0.03
    """The built-in responder's pace, a word at a time."""
    pace: float = 1.0
    """Multiplies the waits of `@demo`, `@slow` and `@test`, so that a test need not wait."""
    max_depth: int = 100
    """Requests in one conversation's queue, the running one included."""
    max_frame_bytes: int = 100 * 2**20
    """A larger frame closes the socket with 1009."""
