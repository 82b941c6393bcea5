"""Databases that are ready for a site, with people in them: made once for a run, and copied for
each site, because making one takes seconds.
"""

from __future__ import annotations

import json
import secrets
import shutil
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import psycopg
from psycopg import sql

from tests.pages.visitor import MAKE
from tests.processes import clean_environment, manage, unmeasured

POSTGRES = ("127.0.0.1", 5432)
PEOPLE = 96
EACH = 24
"""How many of them a site gets: not those of the site before, which may have talked with the same
agent-server, where conversations go by the names of people.
"""
PREPARE = "from django.core.management import call_command; call_command('migrate', verbosity=0)"


class Someone(NamedTuple):
    """A user, the log-in session of their browser, and the key of their conversation."""

    name: str
    session: str
    key: str


class Database:
    """A PostgreSQL database of a test's own: empty, or a copy of another to which nobody is
    connected.
    """

    def __init__(
        self,
        where: tuple[str, int] = POSTGRES,
        user: str = "root",
        *,
        template: str = "template1",
    ) -> None:
        self.name = f"chat_{uuid4().hex[:12]}"
        server = f"postgres://{user}@{where[0]}:{where[1]}"
        self.url = f"{server}/{self.name}"
        self.admin = f"{server}/postgres"
        self._run("CREATE DATABASE {} TEMPLATE {}", template)

    def drop(self) -> None:
        """And all connections to it."""
        self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)")

    def _run(self, command: str, *names: str) -> None:
        with psycopg.connect(self.admin, autocommit=True) as admin:
            admin.execute(sql.SQL(command).format(*map(sql.Identifier, (self.name, *names))))


class Stock:
    """One database of each kind, made when first asked for. All sites with a copy must have
    `secret_key`, with which the sessions in it are signed.
    """

    def __init__(self, folder: Path) -> None:
        self.secret_key = secrets.token_urlsafe(50)
        self._folder = folder
        self._turns = cycle(range(0, PEOPLE, EACH))
        self._postgresql: Database | None = None

    def sqlite(self, file: Path) -> list[Someone]:
        """Copies the SQLite database to there."""
        people = self._sqlite_people
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._folder / "chat.sqlite3", file)
        return self._some(people)

    def postgresql(self) -> tuple[Database, list[Someone]]:
        """A copy of the PostgreSQL database, which is the caller's to drop."""
        people = self._postgresql_people
        assert self._postgresql is not None
        return Database(template=self._postgresql.name), self._some(people)

    def close(self) -> None:
        """Drops what it made at the PostgreSQL server."""
        if self._postgresql is not None:
            self._postgresql.drop()

    def _some(self, people: list[Someone]) -> list[Someone]:
        first = next(self._turns)
        return people[first : first + EACH]

    @cached_property
    def _sqlite_people(self) -> list[Someone]:
        return self._fill()

    @cached_property
    def _postgresql_people(self) -> list[Someone]:
        self._postgresql = Database()
        return self._fill(DATABASE_URL=self._postgresql.url)

    def _fill(self, **settings: str) -> list[Someone]:
        env = clean_environment(SITE_DATA=str(self._folder), SECRET_KEY=self.secret_key, **settings)
        return new_people(unmeasured(env), PEOPLE, first=PREPARE)


def new_people(env: dict[str, str], count: int, *, first: str = "") -> list[Someone]:
    """Users of the site with this environment, each logged in and with an empty conversation.

    `first` is a line of Python that is run before.
    """
    names = [f"someone-{uuid4().hex[:12]}" for _ in range(count)]
    program = f"{first}\n{MAKE.format(names=names, staff=False)}"
    done = manage("shell", "-v", "0", "-c", program, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    made = json.loads(done.stdout.rpartition("made:")[2])
    return [Someone(name, *about) for name, about in zip(names, made, strict=True)]
