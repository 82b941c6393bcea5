"""What the database of a site says, read past the site."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

REQUESTS = """
SELECT r.id, r.client_id, r.request_id, r.origin, r.text, r.seq, r.state, r.reason
FROM chat_request r JOIN chat_conversation c ON r.conversation_id = c.id
WHERE c.key = {0} ORDER BY r.seq
"""
MESSAGES = """
SELECT m.uid, m.role, m.state, m.html, m.text, m.seq, m.step, m.request_id
FROM chat_message m JOIN chat_conversation c ON m.conversation_id = c.id
WHERE c.key = {0} ORDER BY m.seq, m.step
"""
OWNER = """
SELECT p.run FROM chat_process p JOIN chat_conversation c ON c.owner_id = p.id WHERE c.key = {0}
"""


class Rows:
    """Of a database in PostgreSQL, by its address, or of a SQLite file."""

    def __init__(self, where: str | Path) -> None:
        self._where = where

    def requests(self, key: str) -> list[dict[str, Any]]:
        """All that was asked in a conversation, in order."""
        return self.query(REQUESTS, key)

    def messages(self, key: str, request: int | None = None) -> list[dict[str, Any]]:
        """The bubbles of a conversation, or those of one request, in order."""
        rows = self.query(MESSAGES, key)
        return [row for row in rows if request is None or row["request_id"] == request]

    def upstream_id(self, key: str) -> str:
        """Its name at the agent-server; empty if it never joined."""
        rows = self.query("SELECT upstream_id FROM chat_conversation WHERE key = {0}", key)
        return str(rows[0]["upstream_id"])

    def owner(self, key: str) -> str:
        """The process that runs its link; empty if none does."""
        rows = self.query("SELECT owner_id FROM chat_conversation WHERE key = {0}", key)
        return str(rows[0]["owner_id"] or "")

    def owner_pid(self, key: str) -> int:
        """The number of the operating system's process that runs its link."""
        (row,) = self.query(OWNER, key)
        return int(row["run"].split(" ")[1])

    def query(self, statement: str, *parameters: Any) -> list[dict[str, Any]]:
        """`{0}` stands for the parameters, in either database."""
        if isinstance(self._where, Path):
            with sqlite3.connect(f"file:{self._where}?mode=ro", uri=True, timeout=20) as reader:
                reader.row_factory = sqlite3.Row
                found = reader.execute(statement.format("?"), parameters).fetchall()
            reader.close()
            return [dict(row) for row in found]
        with psycopg.connect(self._where, row_factory=dict_row) as connection:
            return list(connection.execute(statement.format("%s").encode(), parameters))
