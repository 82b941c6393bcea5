"""`/healthz` answers for as long as the process lives, whatever else is gone."""

from __future__ import annotations

from typing import Any

import pytest

from chat.pages.probes import Probes
from tests.processes import Site
from tests.site.asking import ask


async def through(path: str, kind: str) -> list[dict[str, Any]]:
    """What is sent in answer by the probes in front of an application that says "page"."""
    sent: list[dict[str, Any]] = []

    async def page(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "page"})

    async def send(event: dict[str, Any]) -> None:
        sent.append(event)

    scope = {"type": kind, "path": path, "method": "GET", "headers": []}
    await Probes(page)(scope, None, send)
    return sent


@pytest.mark.parametrize("host", ["10.1.2.3", "balancer.internal", "[fe80::1]:8000", "a b"])
def test_a_balancer_may_ask_by_any_name(shared_site: Site, host: str) -> None:
    assert ask(f"{shared_site.url}/accounts/login/", Host=host).status == 400
    reply = ask(f"{shared_site.url}/healthz", Host=host)
    assert (reply.status, reply.text) == (200, "ok\n")


def test_it_is_plain_and_kept_by_nobody(shared_site: Site) -> None:
    headers = ask(f"{shared_site.url}/healthz").headers
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Set-Cookie"] is None


def test_a_head_is_answered_without_a_body_and_nothing_else_is_taken(shared_site: Site) -> None:
    reply = ask(f"{shared_site.url}/healthz", "HEAD")
    assert (reply.status, reply.text) == (200, "")
    assert ask(f"{shared_site.url}/healthz", "POST").status == 405


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/healthz/", "http"), ("/c/healthz", "http"), ("/", "http"), ("/healthz", "websocket")],
)
async def test_every_other_address_is_the_sites_own(path: str, kind: str) -> None:
    assert await through(path, kind) == [{"type": "page"}]
