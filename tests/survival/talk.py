"""A conversation that something happens to, and what must be true of it afterwards."""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from chat.transcript.reading import PAGE_SIZE
from tests.pages.forms import Document
from tests.processes import PATIENCE_S, Agent
from tests.survival.cluster import LOOK_EVERY_S
from tests.survival.person import Person
from tests.survival.reader import Reader
from tests.survival.rows import Rows

TERMINAL = {"final", "cancelled", "interrupted", "failed"}


@dataclass(frozen=True, slots=True)
class Bubble:
    """A message as it stands somewhere: in the database, in an open page, in a fresh one."""

    uid: str
    role: str
    state: str
    text: str


@dataclass
class Sent:
    """A message that the site has accepted. `echoed`: its answer, if whole, repeats it once.
    `logged`: the agent-server's log has it, if it has begun.
    """

    client_id: str
    text: str
    echoed: bool = True
    logged: bool = True
    accepted: asyncio.Event = field(default_factory=asyncio.Event)


class Talk:
    """What one person says in one conversation, with one page open all the time."""

    def __init__(self, person: Person, rows: Rows, agent: Agent, rng: random.Random) -> None:
        self.person = person
        self.rows = rows
        self.agent = agent
        self.rng = rng
        self.sent: list[Sent] = []
        self.reader = Reader(person)

    async def send(self, text: str, *, echoed: bool = True) -> Sent:
        """Send a message; returns when it is accepted, after however many tries."""
        one = Sent(str(uuid4()), text, echoed)
        self.sent.append(one)
        await self.person.send(text, one.client_id)
        one.accepted.set()
        return one

    async def chatter(self, count: int, *, within_s: float = 2.0) -> None:
        """Send so many messages one after another, at random moments."""
        for number in range(count):
            await asyncio.sleep(self.rng.random() * within_s / count)
            words = " ".join(f"w{self.rng.randrange(100)}" for _ in range(self.rng.randint(3, 25)))
            await self.send(f"number {number} {words}")

    def forget_log(self) -> None:
        """The agent-server's log of all that was sent so far is about to be emptied."""
        for one in self.sent:
            one.logged = False

    async def moment(self, at_most_s: float) -> None:
        """Wait for some time."""
        await asyncio.sleep(self.rng.random() * at_most_s)

    async def until(self, what: str, condition: Any) -> None:
        """Until a plain condition holds, looked at in turns; with what is so if it never does."""
        end = time.monotonic() + PATIENCE_S
        while not await asyncio.to_thread(condition):
            assert self.reader.fault is None, self.reader.fault
            assert time.monotonic() < end, f"never: {what}\n{self.story()}"
            await asyncio.sleep(LOOK_EVERY_S)

    async def settle(self) -> None:
        """Until every message has its end in the database, and the open page shows the same."""
        for one in self.sent:
            await one.accepted.wait()
        await self.until("all messages are answered or ended", self._all_ended)
        await self.until("the page shows what is stored", lambda: self.shown() == self.stored())

    async def settle_after(self) -> None:
        """The same after something happened, and then the next message is answered whole."""
        await self.settle()
        last = await self.send("and after all that")
        await self.settle()
        assert self.state_of(last) == "final", self.story()

    async def check(self, *, peak: int | None = 1, runs: int = 1) -> None:
        """Once, in order, answered or honestly ended; the same everywhere. `runs`: how often the
        agent-server may have begun one message.
        """
        requests = self.requests()
        own = [request for request in requests if request["origin"] == "user"]
        assert [r["client_id"] for r in own] == [one.client_id for one in self.sent], self.story()
        log = self.asked_upstream()
        for request, one in zip(own, self.sent, strict=True):
            begun = log.count(request["request_id"])
            assert begun <= runs, f"submitted {begun} times\n{self.story()}"
            self._check_request(request, one, begun)
        order = [name for name in log if name in {request["request_id"] for request in own}]
        assert order == sorted(order, key=[r["request_id"] for r in own].index), self.story()
        await self.check_same()
        if peak is not None:
            assert self.peak() <= peak, self.story()

    async def check_same(self) -> None:
        """Database, open page and fresh page have the same, each bubble once."""
        stored = self.stored()
        assert len({bubble.uid for bubble in stored}) == len(stored)
        assert self.shown() == stored, self.story()
        assert await self.fresh() == stored[-PAGE_SIZE:], self.story()

    def requests(self) -> list[dict[str, Any]]:
        """What was asked, as it is stored."""
        return self.rows.requests(self.person.key)

    def state_of(self, one: Sent) -> str:
        """How its request stands."""
        return str({row["client_id"]: row["state"] for row in self.requests()}[one.client_id])

    def finals(self) -> int:
        """How many requests were answered whole."""
        return [request["state"] for request in self.requests()].count("final")

    def in_state(self, role: str, state: str) -> list[Bubble]:
        """What the open page shows like that."""
        return [bubble for bubble in self.shown() if (bubble.role, bubble.state) == (role, state)]

    def peak(self) -> int:
        """The most clients that this conversation ever had at the agent-server."""
        return max(self._joins(), default=0)

    def joins(self) -> int:
        """How often it was joined."""
        return len(self._joins())

    def stored(self) -> list[Bubble]:
        """What the database has, from the top; a bubble that is empty is not to be seen."""
        return [
            Bubble(row["uid"], row["role"], row["state"], plain(row["html"]))
            for row in self.rows.messages(self.person.key)
            if row["html"]
        ]

    def shown(self, page: Reader | None = None) -> list[Bubble]:
        """What an open page shows: the one that is open all the time, or another."""
        bubbles = (page or self.reader).bubbles
        named = sorted(bubbles.items(), key=lambda item: item[1].order)
        return [
            Bubble(uid, bubble.role, bubble.state, " ".join(bubble.text.split()))
            for uid, bubble in named
        ]

    async def fresh(self) -> list[Bubble]:
        """What a page shows that is loaded now, before any push."""
        found = []
        document = Document(await self.person.page())
        bodies = {e.attributes["id"]: e for e in document.elements if "data-body" in e.attributes}
        for message in document.messages:
            about = message.attributes
            uid = about["data-message"]
            text = " ".join(bodies[f"b-{uid}"].text.split())
            found.append(Bubble(uid, about["data-role"], about["data-state"], text))
        return found

    def asked_upstream(self) -> list[str]:
        """The requests that the agent-server has begun, by its log on disk."""
        return [
            entry["requestId"]["requestId"]
            for entry in self.agent.log(self.rows.upstream_id(self.person.key))
            if entry["type"] == "user-request"
        ]

    def story(self) -> str:
        """All of it, for the message of a failed test."""
        requests = self.requests()
        told = {
            "sent": [(one.client_id, one.text[:20]) for one in self.sent],
            "requests": [{**request, "text": request["text"][:20]} for request in requests],
            "stored": [str(bubble)[:160] for bubble in self.stored()],
            "shown": [str(bubble)[:160] for bubble in self.shown()],
            "upstream": self.asked_upstream(),
        }
        logs = "\n".join(
            f"--- {web.port}\n" + web.output[-3000:] for web in self.person.cluster.webs
        )
        return json.dumps(told, indent=1, default=str) + "\n" + logs

    def _joins(self) -> list[int]:
        upstream = self.rows.upstream_id(self.person.key)
        joins = [line.split() for line in self.agent.lines if line.startswith("joined: ")]
        return [int(clients) for _, name, clients in joins if name == upstream]

    def _all_ended(self) -> bool:
        requests = self.requests()
        states = {request["client_id"]: request["state"] for request in requests}
        return all(states.get(one.client_id) in TERMINAL for one in self.sent)

    def _check_request(self, request: dict[str, Any], one: Sent, begun: int) -> None:
        bubbles = self.rows.messages(self.person.key, request["id"])
        questions = [bubble for bubble in bubbles if bubble["role"] == "user"]
        assert [question["text"] for question in questions] == [one.text], self.story()
        answer = " ".join(
            " ".join(plain(b["html"]).split()) for b in bubbles if b["role"] == "agent"
        )
        if request["state"] == "final":
            assert begun >= one.logged, self.story()
            assert not one.echoed or answer.count(one.text) == 1, self.story()
        else:
            assert request["reason"] or request["state"] == "cancelled", self.story()


def plain(html: str) -> str:
    """The text of a body, whatever the spaces."""
    document = Document(f"<div>{html}</div>")
    return " ".join(document.elements[0].text.split())
