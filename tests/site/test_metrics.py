"""`/metrics`: who may read it, and that it names nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from chat.pages.probes import may_read_metrics
from tests.processes import Site
from tests.site.asking import ask, wait_for

TOKEN = "a-token-for-metrics"
LABELS = {"state", "kind", "le"}
EXPECTED = {
    *("chat_pages", "chat_links", "chat_unfinished_requests", "chat_outbox_age_seconds"),
    *("chat_heartbeat_age_seconds", "chat_reconnects", "chat_dropped_frames", "chat_lost_pushes"),
    *("chat_claims", "chat_takeovers", "chat_fences", "chat_failed_saves"),
    *("chat_flush_seconds", "chat_save_seconds", "chat_render_seconds"),
    *("process_resident_memory_bytes", "process_cpu_seconds"),
}

type MakeSite = Callable[..., Site]


def scope(client: Any = "127.0.0.1", host: str = "127.0.0.1:8000", **headers: str) -> Any:
    named = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return {"client": client and (client, 5), "headers": [(b"host", host.encode()), *named]}


def test_whoever_is_on_this_machine_may_read_them(shared_site: Site) -> None:
    wait_for(f"{shared_site.url}/readyz", lambda reply: reply.status == 200)
    reply = ask(f"{shared_site.url}/metrics")
    assert reply.status == 200
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    families = list(text_string_to_metric_families(reply.text))
    assert {family.name for family in families} >= EXPECTED
    names = {name for family in families for sample in family.samples for name in sample.labels}
    assert names <= LABELS


def test_whoever_comes_through_a_proxy_may_not(shared_site: Site) -> None:
    for headers in ({"X_Forwarded_For": "10.1.2.3"}, {"Host": "chat.example.org"}):
        reply = ask(f"{shared_site.url}/metrics", **headers)
        assert reply.status == 404
        assert "chat_" not in reply.text


def test_with_the_token_everybody_may(make_site: MakeSite) -> None:
    site = make_site(METRICS_TOKEN=TOKEN)
    url = f"{site.url}/metrics"
    through = {"X_Forwarded_For": "10.1.2.3", "Host": "chat.example.org"}
    assert ask(url, Authorization=f"Bearer {TOKEN}", **through).status == 200
    assert ask(url, Authorization="Bearer wrong", **through).status == 404
    assert ask(url, **through).status == 404
    assert ask(url).status == 200


@pytest.mark.parametrize(
    ("client", "host"),
    [("127.0.0.1", "localhost"), ("127.0.0.9", "127.0.0.1:80"), ("::1", "[::1]:8000")],
)
def test_this_machine_has_several_addresses(client: str, host: str, settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    assert may_read_metrics(scope(client, host))


@pytest.mark.parametrize(
    "stranger",
    [
        scope("10.1.2.3"),
        scope(None),
        scope(""),
        scope(host="rebound.example:8000"),
        scope(host=""),
        *(scope(**{name: "10.1.2.3"}) for name in ("x_forwarded_for", "x_real_ip", "forwarded")),
        scope(via="1.1 proxy"),
        scope("10.1.2.3", authorization="Bearer "),
        scope("10.1.2.3", authorization="Bearer"),
    ],
)
def test_a_stranger_is_told_apart(stranger: Any, settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    assert not may_read_metrics(stranger)


@pytest.mark.parametrize("given", ["Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x"])
def test_a_wrong_token_is_none(given: str, settings: Settings) -> None:
    settings.METRICS_TOKEN = TOKEN
    assert not may_read_metrics(scope("10.1.2.3", authorization=given))
    assert may_read_metrics(scope("10.1.2.3", authorization=f"Bearer {TOKEN}"))
