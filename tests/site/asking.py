"""Asks a running site for its probes, as a balancer does."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from typing import Any

from tests.processes import PATIENCE_S


@dataclass
class Reply:
    status: int
    text: str
    headers: Message

    @property
    def parts(self) -> dict[str, Any]:
        """What `/readyz` says of each part."""
        found: dict[str, Any] = json.loads(self.text)
        return found


def ask(url: str, method: str = "GET", **headers: str) -> Reply:
    """One request. `headers` with underscores in place of hyphens."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    request = urllib.request.Request(url, method=method, headers=named)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=PATIENCE_S) as answer:
            return Reply(answer.status, answer.read().decode(), answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, error.read().decode(), error.headers)


def wait_for(url: str, condition: Callable[[Reply], bool]) -> Reply:
    """The first reply that is so."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        reply = ask(url)
        if condition(reply):
            return reply
        assert time.monotonic() < deadline, f"never so, but {reply.status}: {reply.text}"
        time.sleep(0.1)
