"""What must be true of a conversation whatever happened to its pages: the database, the open pages
and a fresh page say the same, and everything sent was answered or honestly ended, once, in order.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.browser.chat import Chat, Seen
from tests.survival.rows import Rows
from tests.survival.talk import TERMINAL, plain


class Shows(Protocol):
    """Whatever shows a conversation."""

    def bubbles(self) -> list[Seen]:
        """In the order in which they stand."""


@dataclass(frozen=True, slots=True)
class Line:
    """A bubble as it stands somewhere."""

    uid: str
    role: str
    state: str
    text: str


class Truth:
    """Of the conversation that `chat` shows, at a site with this address and database."""

    def __init__(self, chat: Chat, site_url: str, database: str | Path, agent_data: Path) -> None:
        self.chat = chat
        self.key = chat.page.url.rstrip("/").rpartition("/")[2]
        self._address = f"{site_url}/c/{self.key}/"
        self._rows = Rows(database)
        self._agent_data = agent_data

    def stored(self) -> list[Line]:
        """What the database has, from the top."""
        return [
            Line(row["uid"], row["role"], row["state"], plain(row["html"]))
            for row in self._rows.messages(self.key)
        ]

    def questions(self) -> list[str]:
        """What the user has asked, as the site has accepted it."""
        return [row["text"] for row in self._own()]

    def states(self) -> list[str]:
        """How each question ended."""
        return [row["state"] for row in self._own()]

    def begun(self) -> list[str]:
        """The names of the user's requests in the order in which the agent-server began them."""
        upstream = self._rows.upstream_id(self.key)
        path = self._agent_data / "logs" / f"{upstream}.jsonl"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        entries = [json.loads(line) for line in text.splitlines(keepends=True) if line[-1] == "\n"]
        own = {row["request_id"] for row in self._own()}
        names = [e["requestId"]["requestId"] for e in entries if e["type"] == "user-request"]
        return [name for name in names if name in own]

    def settle(self, count: int) -> None:
        """Until so many questions are accepted, and everything has its end."""
        until = self.chat.until
        until(lambda: len(self._own()) >= count, f"{count} questions are accepted")
        until(lambda: set(self.states()) <= TERMINAL, "everything has its end")

    def check(self, sent: list[str], *pages: Shows) -> None:
        """Wait until all has its end, then compare; `pages` are more open ones."""
        self.settle(len(sent))
        for page in (self.chat, *pages):
            self._agrees(page)
        assert self.questions() == sent
        begun = self.begun()
        assert begun == [row["request_id"] for row in self._own() if row["request_id"] in begun]
        for row in self._own():
            assert row["state"] != "final" or begun.count(row["request_id"]) == 1
        fresh = Chat(self.chat.page.context.new_page())
        fresh.page.goto(self._address)
        self._agrees(fresh)
        fresh.page.close()

    def _agrees(self, page: Shows) -> None:
        shown: list[list[Line]] = [[]]

        def same() -> bool:
            shown[0] = [line_of(seen) for seen in page.bubbles()]
            return shown[0] == self.stored()

        with contextlib.suppress(AssertionError):
            self.chat.until(same, "")
        assert not (difference := differing(shown[0], self.stored())), difference

    def _own(self) -> list[dict[str, str]]:
        return [row for row in self._rows.requests(self.key) if row["origin"] == "user"]


def differing(shown: list[Line], stored: list[Line]) -> str:
    """Both, where a page does not show what is stored; nothing where it does."""
    return "" if shown == stored else f"shown  {shown}\nstored {stored}\n"


def line_of(seen: Seen) -> Line:
    """A bubble on a screen, to be compared with the stored one."""
    return Line(seen.uid, seen.role, seen.state, seen.text)
