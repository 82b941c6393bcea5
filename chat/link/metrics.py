"""What this process counts and times, for `/metrics`. No label names a person or a conversation."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.process_collector import ProcessCollector

TIMES_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
JUNK = ("unreadable", "senseless", "failed", "oversized")

disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()
"""Of this site alone: what libraries register elsewhere is not shown."""
ProcessCollector(registry=REGISTRY)

RECONNECTS = Counter(
    "chat_reconnects", "Attempts of links to connect anew after a loss.", registry=REGISTRY
)
DROPPED_FRAMES = Counter(
    "chat_dropped_frames",
    "Frames of the agent-server that could not be read, understood, handled or held.",
    ["kind"],
    registry=REGISTRY,
)
LOST_PUSHES = Counter(
    "chat_lost_pushes", "Pushes and answers to pages that the layer refused.", registry=REGISTRY
)
CLAIMS = Counter(
    "chat_claims", "Conversations that this process became owner of.", registry=REGISTRY
)
TAKEOVERS = Counter(
    "chat_takeovers",
    "Conversations with work under way that had no living owner until this process took them.",
    registry=REGISTRY,
)
FENCES = Counter(
    "chat_fences", "Links that ended because another may own the conversation.", registry=REGISTRY
)
FAILED_SAVES = Counter(
    "chat_failed_saves", "Writes of a link that the database refused.", registry=REGISTRY
)
FLUSH_TIME = Histogram(
    "chat_flush_seconds",
    "Time to draw what changed and push it.",
    buckets=TIMES_S,
    registry=REGISTRY,
)
RENDER_TIME = Histogram(
    "chat_render_seconds",
    "Time to render what changed of one request.",
    buckets=TIMES_S,
    registry=REGISTRY,
)
SAVE_TIME = Histogram(
    "chat_save_seconds", "Time to save what changed.", buckets=TIMES_S, registry=REGISTRY
)

for _kind in JUNK:
    DROPPED_FRAMES.labels(_kind)


def drop_frame(kind: str) -> None:
    """A frame was dropped; `kind` is one of JUNK."""
    DROPPED_FRAMES.labels(kind).inc()
