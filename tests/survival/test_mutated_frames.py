"""An agent-server that says what it should not costs a site nothing but what it said."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Agent
from tests.shared import requires_shared
from tests.survival.cluster import Cluster
from tests.survival.conftest import StartTalk
from tests.survival.middle import Middle
from tests.survival.mutate import aimed, mutated, recorded
from tests.survival.person import Person
from tests.survival.rounds import rounds
from tests.survival.rows import Rows
from tests.survival.talk import Sent, Talk

FRAMES = 500
"""Of a round: 10,000 in 20 of them."""

MAX_MEMORY_MIB = 500
"""Of a process of the site, whatever it has been told; it starts with some 120."""

FAULTS = ("failed to handle a frame", "the link failed", "task failed", "flush failed")
"""What a process logs of an exception that nobody expected."""

LINE_WAIT_S = 0.02


@pytest.fixture(scope="module")
def middle(upstream: Agent) -> Iterator[Middle]:
    """Stands between the site and its agent-server."""
    middle = Middle(upstream.url)
    yield middle.start()
    middle.stop()


@pytest.fixture(scope="module")
def site_settings(middle: Middle) -> dict[str, Any]:
    return {"TYPEAGENT_SERVER_URL": middle.url}


@requires_shared
@rounds()
async def test_mutated_frames_end_no_link_and_touch_no_other_conversation(
    talk: StartTalk,
    other_person: Person,
    middle: Middle,
    rows: Rows,
    upstream: Agent,
    cluster: Cluster,
    seed: int,
) -> None:
    async with talk(seed) as chat:
        other = Talk(other_person, rows, upstream, chat.rng)
        async with other.reader:
            await chat.send("@demo stream 3000 6 200", echoed=False)
            await other.send("anybody there?")
            await chat.until("it streams", lambda: "streaming" in {b.state for b in chat.stored()})
            talking = asyncio.create_task(other.chatter(3, within_s=4))
            await shower(chat, other, middle)
            await talking
            await chat.settle()
            await chat.until("nothing runs any more", lambda: not chat.reader.running)
            last, same = await chat.send("and after all that"), await other.send("and after it")
            await chat.settle()
            await other.settle()
            answer = answer_of(chat, last)
            assert answer.replace("all that", "it") == answer_of(other, same)
            await chat.check_same()
            await other.check()
            assert {request["state"] for request in other.requests()} == {"final"}
    for web in cluster.running:
        assert web.command is not None
        assert not [line for line in web.command.lines if any(fault in line for fault in FAULTS)]
        assert memory_mib(web.command.process.pid) < MAX_MEMORY_MIB


async def shower(chat: Talk, other: Talk, middle: Middle) -> None:
    """Let the agent-server say all of it in the one conversation, and some for the other."""
    rng = chat.rng
    own, foreign = (t.rows.upstream_id(t.person.key) for t in (chat, other))
    ids = [request["request_id"] for request in chat.requests() + other.requests()]
    sent = 0
    while sent < FRAMES:
        line = middle.line(own)
        if line is None:
            await asyncio.sleep(LINE_WAIT_S)  # it comes back
            continue
        source = list(line.recent) if line.recent and rng.random() < 0.5 else recorded()
        text = aimed(rng, rng.choice(source), foreign if rng.random() < 0.1 else own, ids)
        sent += await middle.inject(line, mutated(rng, text))


def answer_of(chat: Talk, one: Sent) -> str:
    """What stands below a message; once."""
    (request,) = [row for row in chat.requests() if row["client_id"] == one.client_id]
    assert request["state"] == "final", chat.story()
    bubbles = chat.rows.messages(chat.person.key, request["id"])
    (answer,) = [bubble["text"] for bubble in bubbles if bubble["role"] == "agent"]
    return str(answer)


def memory_mib(pid: int) -> int:
    """What a process has in memory now."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) // 1024
