"""C58: many people who send at the same time, on SQLite."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.pages.visitor import Visitor, visitors
from tests.processes import Site

SENDERS = 20
EACH = 5


def test_c58_twenty_senders_at_once(live: Site) -> None:
    before = len(live.output)
    everyone = visitors(live, *(f"sender-{number}" for number in range(SENDERS)))

    def send_all(visitor: Visitor) -> list[int]:
        return [
            visitor.send(f"{visitor.key} {number}", f"id-{number}", htmx=number % 2 == 0).status
            for number in range(EACH)
        ]

    with ThreadPoolExecutor(SENDERS) as pool:
        statuses = Counter(status for sent in pool.map(send_all, everyone) for status in sent)
    assert statuses == {200: SENDERS * EACH}  # a 303 is followed to the page
    stored = Counter(
        text for (text,) in live.query("SELECT text FROM chat_message WHERE role = 'user'")
    )
    for visitor in everyone:
        for number in range(EACH):
            assert stored[f"{visitor.key} {number}"] == 1
    assert "locked" not in live.output[before:]
    assert "Traceback" not in live.output[before:]
