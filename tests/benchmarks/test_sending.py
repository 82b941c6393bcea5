"""How long a sent message takes to be accepted, alone and among fifty, on both databases."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median, quantiles
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from tests.benchmarks.crowd import people
from tests.processes import Agent
from tests.survival.cluster import Cluster, Web
from tests.survival.person import Person

pytestmark = pytest.mark.benchmark

USERS = (1, 50)
EACH = 10
ALONE = 100


def send_all(web: Web, person: Person, count: int) -> list[float]:
    """Send one message after the other over one connection; how long each took, in ms."""
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)
    took = []
    for _ in range(count):
        body = urlencode({"text": "hello", "client_id": str(uuid4())})
        began = time.perf_counter()
        connection.request("POST", f"/c/{person.key}/messages/", body, person.headers(web, "POST"))
        answer = connection.getresponse()
        answer.read()
        took.append((time.perf_counter() - began) * 1000)
        assert answer.status == 200
    connection.close()
    return took


@pytest.mark.parametrize("sqlite", [True, False], ids=["SQLite", "PostgreSQL"])
def test_a_message_is_accepted(
    make_cluster: Callable[..., Cluster], agent: Agent, sqlite: bool
) -> None:
    cluster = make_cluster(agent.url, sqlite=sqlite)
    (web,) = cluster.webs
    send_all(web, people(cluster, 1)[0], 20)
    told = []
    for users in USERS:
        crowd = people(cluster, users)
        with ThreadPoolExecutor(users) as pool:
            count = ALONE if users == 1 else EACH
            took = [
                one
                for each in pool.map(lambda person: send_all(web, person, count), crowd)  # noqa: B023
                for one in each
            ]
        told.append(f"{users}: p50 {median(took):.0f} ms, p95 {quantiles(took, n=20)[-1]:.0f} ms")
    name = "SQLite" if sqlite else "PostgreSQL"
    print(f"\nPOST accepted on {name}, users {'; '.join(told)}")  # noqa: T201
