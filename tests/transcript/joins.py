"""A join, as the merge of a log and a queue into memory."""

from __future__ import annotations

from collections.abc import Iterable

from chat.agentserver.events import Event, QueueEntry, QueueSnapshot
from chat.transcript import history
from chat.transcript.history import Account
from chat.transcript.live import LiveTranscript

AT = 1_700_000_000_000
"""When the log of these tests begins (ms)."""


def account(
    *log: Event,
    alive: Iterable[QueueEntry] = (),
    pending: Iterable[Event] = (),
    since: Iterable[Event] = (),
    logged: int = 0,
    first: int = 0,
    goes_on: bool = False,
) -> Account:
    entries = list(alive)
    running = next((e for e in entries if e.state == "running"), None)
    waiting = tuple(e for e in entries if e is not running)
    return history.account_of(
        [(first + seq, AT + seq, event) for seq, event in enumerate(log)],
        QueueSnapshot(running, waiting) if entries else None,
        pending,  # type: ignore[arg-type]
        since=list(since),
        logged=logged,
        goes_on=goes_on,
    )


def take_in(
    live: LiveTranscript,
    told: Account,
    *,
    after_seq: int = -1,
    oldest_ms: int = 0,
    limit: int = 200,
    known: Iterable[str] = (),
) -> LiveTranscript:
    """As a join does it."""
    fresh = history.unknown(live, told, after_seq=after_seq, oldest_ms=oldest_ms, limit=limit)
    history.settle(live, told)
    history.backfill(live, told, [name for name in fresh if name not in set(known)])
    return live
