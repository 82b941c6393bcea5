"""Pages and messages of one process of a site, for what differs from process to process."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode
from uuid import uuid4

from tests.processes import PATIENCE_S
from tests.survival.cluster import Web
from tests.survival.person import Answer, Person
from tests.survival.reader import Reader
from tests.survival.talk import Sent, Talk


class PinnedReader(Reader):
    """A page of one process, with all that its header said. It does not leave a slow one."""

    socket_wait_s = float(PATIENCE_S)

    def __init__(self, person: Person, web: Web) -> None:
        super().__init__(person)
        self.web = web
        self.said: list[str] = []

    def choose(self) -> Web | None:
        return self.web if self.web.running else None

    def apply(self, html: str) -> None:
        super().apply(html)
        if self.connection_text not in self.said[-1:]:
            self.said.append(self.connection_text)


async def post_to(chat: Talk, web: Web, text: str, *, echoed: bool = True) -> Answer:
    """Send a message through that process, at the first try. `echoed` as in `Talk.send`."""
    one = Sent(str(uuid4()), text, echoed)
    form = urlencode({"text": text, "client_id": one.client_id})
    answer = await chat.person.try_once(web, "POST", f"/c/{chat.person.key}/messages/", form)
    if answer.status == 200:
        chat.sent.append(one)
        one.accepted.set()
    return answer


async def all_show(chat: Talk, *readers: PinnedReader) -> None:
    """Until each of these pages shows what is stored."""
    for reader in readers:
        await chat.until("the page shows it", lambda r=reader: chat.shown(r) == chat.stored())
        assert reader.fault is None


def answered(chat: Talk) -> int:
    """How many messages are answered."""
    return [request["state"] for request in chat.requests()].count("final")


async def seconds_left(end: float) -> None:
    """Until that time of the loop's clock."""
    await asyncio.sleep(max(0.0, end - asyncio.get_running_loop().time()))
