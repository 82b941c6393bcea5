"""Many open pages of one conversation without a browser for each: they hear what it would."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Self

from websockets.asyncio.client import connect

from tests.browser.truth import Line
from tests.link.view import View
from tests.processes import PATIENCE_S
from tests.survival.person import Person


class Ear:
    """Looks at what it has heard only when asked: forty of them share a thread."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self._heard: list[str] = []

    @property
    def is_there(self) -> bool:
        """It has heard something."""
        return bool(self._heard)

    async def listen(self) -> None:
        """From the start, over one socket."""
        web = self._person.rng.choice(self._person.cluster.running)
        async with connect(
            f"ws://127.0.0.1:{web.port}/ws/c/{self._person.key}/",
            origin=web.url,  # type: ignore[arg-type]
            additional_headers={"Cookie": self._person.cookies},
            proxy=None,
            open_timeout=PATIENCE_S,
            ping_interval=None,
        ) as socket:
            await socket.send(json.dumps({"type": "hello", "revision": 0}))
            async for push in socket:
                self._heard.append(str(push))

    def lines(self) -> list[Line]:
        """What it shows by now."""
        view = View()
        for html in list(self._heard):
            view.apply(html)
        return [
            Line(uid, bubble.role, bubble.state, " ".join(bubble.text.split()))
            for uid, bubble in sorted(view.bubbles.items(), key=lambda item: item[1].order)
        ]


class Crowd:
    """So many readers, in a thread of their own."""

    def __init__(self, person: Person, count: int) -> None:
        self._ears = [Ear(person) for _ in range(count)]
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(PATIENCE_S)

    @property
    def there(self) -> int:
        """How many have heard something."""
        return sum(ear.is_there for ear in self._ears)

    def lines(self) -> list[list[Line]]:
        """What each of them shows."""
        return [ear.lines() for ear in self._ears]

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._read())

    async def _read(self) -> None:
        listening = [asyncio.create_task(ear.listen()) for ear in self._ears]
        await self._end.wait()
        for each in listening:
            each.cancel()
        await asyncio.wait(listening)
