"""`/healthz`, `/readyz` and `/metrics`: what a balancer and whoever runs the site ask a process.

They are answered in front of Django: a balancer asks by an address that is none of the site's
names, and no middleware may make it wait for a thread, a login or a database.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from chat.link.gauges import exposition
from chat.pages.readiness import Readiness

TEXT = "text/plain; charset=utf-8"
METRICS = "text/plain; version=0.0.4; charset=utf-8"
FORWARDED = {b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip", b"forwarded", b"via"}
LOOPBACK_NAME = "localhost"

type App = Callable[[Any, Any, Any], Awaitable[None]]


class Probes:
    """An ASGI application that answers these addresses and passes on everything else."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._readiness = Readiness()
        self._answers = {
            "/healthz": self._health,
            "/readyz": self._ready,
            "/metrics": self._metrics,
        }

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        answer = self._answers.get(scope["path"]) if scope["type"] == "http" else None
        if answer is None:
            await self._app(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD"):
            status, kind, body = await answer(scope)
            await _respond(send, status, kind, b"" if scope["method"] == "HEAD" else body)
        else:
            await _respond(send, 405, TEXT, b"Only GET and HEAD.\n")

    async def _health(self, scope: dict[str, Any]) -> tuple[int, str, bytes]:
        """The process lives and its event loop turns. Asks nothing of anything else."""
        return 200, TEXT, b"ok\n"

    async def _ready(self, scope: dict[str, Any]) -> tuple[int, str, bytes]:
        ready, parts = await self._readiness.look()
        body = json.dumps({"ready": ready, **parts}) + "\n"
        return 200 if ready else 503, "application/json", body.encode()

    async def _metrics(self, scope: dict[str, Any]) -> tuple[int, str, bytes]:
        if not may_read_metrics(scope):
            return 404, TEXT, b"Not found.\n"
        return 200, METRICS, exposition()


def may_read_metrics(scope: dict[str, Any]) -> bool:
    """Whether the request has the token, or comes from this machine and through no proxy.

    A proxy on this machine comes from loopback too. It gives itself away by its headers, or by
    passing on the site's own name.
    """
    headers = {name.lower(): text for name, text in scope["headers"]}
    token = settings.METRICS_TOKEN.encode()
    given = headers.get(b"authorization", b"")
    if token and secrets.compare_digest(given, b"Bearer " + token):
        return True
    client = (scope.get("client") or ("",))[0]
    host = urlsplit(f"//{headers.get(b'host', b'').decode('latin-1')}").hostname or ""
    local = _is_loopback(client) and (host == LOOPBACK_NAME or _is_loopback(host))
    return local and not FORWARDED.intersection(headers)


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


async def _respond(send: Any, status: int, kind: str, body: bytes) -> None:
    headers = [
        (b"content-type", kind.encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
