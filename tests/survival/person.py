"""Somebody at a site of several processes: posts and reads through whichever answers."""

from __future__ import annotations

import asyncio
import http.client
import random
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlencode

from tests.survival.cluster import Cluster, Web

TRY_AGAIN_S = 0.1
ANSWER_WITHIN_S = 8.0
"""What a proxy in front would wait for a process that does not answer."""

TRIES = 600


@dataclass(frozen=True, slots=True)
class Answer:
    """What a process said, and whose that was."""

    status: int
    body: str
    web: Web


@dataclass
class Person:
    """Somebody who is logged in, with one conversation."""

    cluster: Cluster
    name: str
    session: str
    key: str
    rng: random.Random = field(default_factory=random.Random)
    _token: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def cookies(self) -> str:
        """As a browser sends them."""
        return f"sessionid={self.session}; csrftoken={self._token}"

    def headers(self, web: Web, method: str) -> dict[str, str]:
        """What the scripts of a page send along."""
        headers = {"Cookie": self.cookies, "Origin": web.url}
        if method == "POST":
            headers |= {
                "X-CSRFToken": self._token,
                "HX-Request": "true",
                "Content-Type": "application/x-www-form-urlencoded",
            }
        return headers

    async def send(self, text: str, client_id: str) -> Answer:
        """Post a message as an open page does, again and again until a process has accepted it."""
        return await self.post("messages/", text=text, client_id=client_id)

    async def post(self, path: str, **fields: str) -> Answer:
        """Post a form of the conversation, until a process takes it."""
        return await self._until_taken("POST", f"/c/{self.key}/{path}", urlencode(fields))

    async def page(self) -> str:
        """The page of the conversation, loaded anew."""
        return (await self._until_taken("GET", f"/c/{self.key}/", "")).body

    async def try_once(self, web: Web, method: str, path: str, body: str = "") -> Answer:
        """Ask one process. Raises OSError or HTTPException where that fails."""
        return await asyncio.to_thread(self._ask, web, method, path, body)

    async def _until_taken(self, method: str, path: str, body: str) -> Answer:
        failure = "no process runs"
        for _ in range(TRIES):
            webs = self.cluster.running
            if webs:
                try:
                    answer = await self.try_once(self.rng.choice(webs), method, path, body)
                except (OSError, http.client.HTTPException) as error:
                    failure = repr(error)
                else:
                    if answer.status < 500:
                        assert answer.status in (200, 204), (answer.status, answer.body)
                        return answer
                    failure = f"{answer.status}"
            await asyncio.sleep(TRY_AGAIN_S)
        raise AssertionError(f"{method} {path}: {failure}")

    def _ask(self, web: Web, method: str, path: str, body: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=ANSWER_WITHIN_S)
        try:
            connection.request(method, path, body, self.headers(web, method))
            answer = connection.getresponse()
            return Answer(answer.status, answer.read().decode(), web)
        finally:
            connection.close()


def newcomer(cluster: Cluster) -> Person:
    """Somebody whom no test has met, with an empty conversation."""
    return Person(cluster, *cluster.someone())
