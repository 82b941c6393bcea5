"""What this process holds at this moment, for `/metrics`, beside what it has counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from django.utils.timezone import now
from prometheus_client import Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from chat.link import hub
from chat.link.hub import Hub
from chat.link.metrics import REGISTRY
from chat.models import LinkState, Origin, RequestState


def exposition() -> bytes:
    """All of it in Prometheus's text format. To be called in the event loop."""
    return generate_latest(REGISTRY)


class _Held(Collector):
    """Each process tells of its own pages and of the links that it owns, so that sums are right."""

    def collect(self) -> Iterator[Metric]:
        here = hub.current()
        if here is None:
            return
        links = here.links.values()
        states = Counter(link.flusher.status.state for link in links)
        by_state = GaugeMetricFamily("chat_links", "Links of this process.", labels=["state"])
        for state in LinkState:
            by_state.add_metric([state.value], states[state])
        yield by_state
        pages = sum(map(len, here.pages.values()))
        yield GaugeMetricFamily("chat_pages", "Open pages of this process.", value=pages)
        yield GaugeMetricFamily(
            "chat_unfinished_requests",
            "Requests under way in the links of this process.",
            value=sum(len(link.live.unfinished) for link in links),
        )
        yield GaugeMetricFamily(
            "chat_outbox_age_seconds",
            "Age of the oldest message that the agent-server has not accepted yet; 0 for none.",
            value=outbox_age_s(here),
        )
        yield GaugeMetricFamily(
            "chat_heartbeat_age_seconds",
            "Time since this process last told the others that it lives.",
            value=here.heart.age_s,
        )


def outbox_age_s(here: Hub) -> float:
    """How long the oldest message waits that its link could not hand in yet."""
    waiting = [
        request.created_at
        for link in here.links.values()
        for request in link.live.unfinished
        if request.state == RequestState.PENDING and request.origin == Origin.USER
    ]
    # A clock that was set back makes nothing negative.
    return max(0.0, (now() - min(waiting)).total_seconds()) if waiting else 0.0


REGISTRY.register(_Held())
