"""What the server needs for the page of a conversation of 200 messages, all of them shown, next to
the same bytes as a static file of Python's own server.
"""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pytest

from tests.benchmarks.crowd import people
from tests.processes import Agent, free_port
from tests.survival.cluster import Cluster

pytestmark = pytest.mark.benchmark

ROUNDS = 60
STEP = 50  # messages of one page
SAVED = "saved.html"

FILL = """
from chat.display.blocks import render_exact, wrap_blocks
from chat.display.content import Segment
from chat.localagent import demo_text
from chat.models import Conversation, Message
conversation = Conversation.objects.get(key={key!r})
answer = demo_text(1000)
for number in range(200):
    text = answer if number % 2 else f"Question {{number}}"
    uid = f"filled{{number}}"
    Message.objects.create(
        uid=uid, conversation=conversation, role="agent" if number % 2 else "user",
        seq=number + 1, revision=1, text=text,
        html=wrap_blocks(uid, render_exact([Segment("markdown", text)])),
    )
Conversation.objects.filter(pk=conversation.pk).update(next_seq=1000, revision=1)
"""


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def static_files(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A folder, and the port at which its files are served."""
    folder, port = tmp_path / "saved", free_port()
    folder.mkdir()
    program = [sys.executable, "-m", "http.server", str(port), "--directory", str(folder)]
    server = subprocess.Popen(program, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not listening(port):
        time.sleep(0.05)
    yield folder, port
    server.terminate()
    server.wait()


def ask(port: int, path: str, headers: dict[str, str]) -> tuple[bytes, float]:
    """A page, and how many ms it took."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    began = time.perf_counter()
    htmx = {"HX-Request": "true"} if "/earlier/" in path else {}
    connection.request("GET", path, headers=headers | htmx)
    answer = connection.getresponse()
    body = answer.read()
    took = (time.perf_counter() - began) * 1000
    connection.close()
    assert answer.status == 200, (path, answer.status)
    return body, took


def whole_page(port: int, key: str, headers: dict[str, str]) -> list[str]:
    """The addresses of the page and of the earlier messages, to the first."""
    paths = [f"/c/{key}/"]
    while len(paths) < 200 // STEP:
        body, _ = ask(port, paths[-1], headers)
        earlier = re.search(rb'id="earlier".*?href="([^"]+)"', body, re.DOTALL)
        assert earlier is not None
        paths.append(earlier[1].decode().replace("&amp;", "&"))
    return paths


@pytest.mark.parametrize("sqlite", [True, False], ids=["SQLite", "PostgreSQL"])
def test_a_page_of_200_messages(
    make_cluster: Callable[..., Cluster],
    agent: Agent,
    static_files: tuple[Path, int],
    sqlite: bool,
) -> None:
    cluster = make_cluster(agent.url, sqlite=sqlite)
    (web,) = cluster.webs
    (person,) = people(cluster, 1)
    headers = person.headers(web, "GET")
    cluster.manage("shell", "-v", "0", "-c", FILL.format(key=person.key))
    paths = whole_page(web.port, person.key, headers)
    parts = [ask(web.port, path, headers)[0] for path in paths]
    folder, static_port = static_files
    (folder / SAVED).write_bytes(b"".join(parts))
    ours, static = [], []
    for _ in range(ROUNDS):
        ours.append([ask(web.port, path, headers)[1] for path in paths])
        static.append(ask(static_port, f"/{SAVED}", {})[1])
    first = median(each[0] for each in ours)
    everything = median(sum(each) for each in ours)
    print(  # noqa: T201 - a benchmark is read by people
        f"\npage of 200 messages on {'SQLite' if sqlite else 'PostgreSQL'}: p50"
        f" {everything:.1f} ms for all in {len(paths)} parts, {first:.1f} ms for the page with the"
        f" newest {STEP}, {sum(map(len, parts)) // 1000} kB; static file {median(static):.1f} ms,"
        f" {everything / median(static):.1f} times"
    )
