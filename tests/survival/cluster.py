"""The site as it is deployed: daphne processes on one database and one Redis, each of which a
test may kill, stop, pause and start.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import pytest

from tests.processes import (
    PATIENCE_S,
    Command,
    clean_environment,
    free_port,
    manage,
    unmeasured,
)
from tests.survival.stock import POSTGRES, Database, Someone, Stock, new_people

REDIS = ("127.0.0.1", 6379)
TTL_S = 2.0
QUICK = {
    "OWNER_TTL_S": f"{TTL_S:g}",
    "SESSION_CHECK_S": "1",
    "AGENT_CONNECT_TIMEOUT_S": "3",
    "AGENT_INVOKE_TIMEOUT_S": "5",
    "AGENT_PING_INTERVAL_S": "1",
    "LINK_LINGER_S": "1",
}
"""Waits that are short, so that a round does not take minutes."""

LOOK_EVERY_S = 0.05
BATCH = 24


def require(name: str, where: tuple[str, int]) -> None:
    """Skip a test without its server; in CI that is a fault."""
    with socket.socket() as probe:
        probe.settimeout(2)
        if probe.connect_ex(where) == 0:
            return
    reason = f"no {name} on {where[0]}:{where[1]}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


class Web:
    """One daphne process of a site, on a port that it keeps."""

    def __init__(self, env: dict[str, str], *options: str) -> None:
        self._env = env
        self._options = options
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.command: Command | None = None
        self.paused = False

    @property
    def running(self) -> bool:
        """It is there, and not paused."""
        return self.command is not None and not self.paused

    @property
    def output(self) -> str:
        """What it printed since its last start."""
        return "" if self.command is None else self.command.output

    def start(self) -> Self:
        """Start it and wait until it answers."""
        self.launch()
        self.wait()
        return self

    def launch(self) -> None:
        """Start it."""
        program = ("-m", "daphne", "-b", "127.0.0.1", "-p", str(self.port), *self._options)
        self.command = Command("chatsite.asgi:application", env=self._env, program=program)

    @property
    def pid(self) -> int:
        """Its number at the operating system; 0 if it does not run."""
        return self.command.process.pid if self.command is not None else 0

    def connections(self, port: int) -> int:
        """How many connections it has to a port of loopback: to the agent-server's, its links."""
        if self.command is None:
            return 0
        process = Path("/proc") / str(self.command.process.pid)
        own = set()
        for name in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                own.add(os.readlink(name))
        there = f":{port:04X}"
        rows = [line.split() for line in (process / "net/tcp").read_text().splitlines()[1:]]
        return sum(row[2].endswith(there) and f"socket:[{row[9]}]" in own for row in rows)

    def kill(self) -> None:
        """`kill -9`, paused or not."""
        if self.command is not None:
            command, self.command, self.paused = self.command, None, False
            command.kill()

    def terminate(self) -> int:
        """SIGTERM, as a service manager does it; gives the exit code."""
        if self.command is None:
            return 0
        command, self.command = self.command, None
        return command.terminate()

    def pause(self) -> None:
        """SIGSTOP."""
        assert self.command is not None
        self.paused = True
        self.command.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        assert self.command is not None
        self.command.process.send_signal(signal.SIGCONT)
        self.paused = False

    def wait(self) -> None:
        """Until it answers."""
        assert self.command is not None
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            assert self.command.process.poll() is None, self.output
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
            try:
                connection.request("GET", "/accounts/login/")
                connection.getresponse().read()
            except OSError:
                time.sleep(LOOK_EVERY_S)
            else:
                return
            finally:
                connection.close()
        raise AssertionError(f"it does not answer:\n{self.output}")


class Cluster:
    """`webs` are the processes; `url` and `manage` are of the site as a whole, for
    `tests.browser.conftest.new_people` and the like.
    """

    def __init__(
        self,
        data: Path,
        static_root: Path,
        *,
        people: Sequence[Someone] = (),
        count: int = 2,
        web: type[Web] = Web,
        daphne: tuple[str, ...] = (),
        **settings: str,
    ) -> None:
        named = {"SITE_DATA": str(data), "STATIC_ROOT": str(static_root)}
        self.env = unmeasured(clean_environment(**{**named, **QUICK, **settings}))
        self.database_url = self.env.get("DATABASE_URL", "")
        self.sqlite_file = data / "chat.sqlite3"
        self.webs = [web(self.env, *daphne) for _ in range(count)]
        self._prepared = bool(people)
        self._people = list(people)

    @property
    def url(self) -> str:
        """The address of the first process that runs."""
        return self.running[0].url

    @property
    def running(self) -> list[Web]:
        """The processes that are there."""
        return [web for web in self.webs if web.running]

    @property
    def _agent_port(self) -> int:
        return int(self.env["TYPEAGENT_SERVER_URL"].rpartition(":")[2])

    def owner(self) -> Web:
        """The process that has the most links; the first if none has any."""
        return max(self.running, key=lambda web: web.connections(self._agent_port))

    def someone(self) -> Someone:
        """A user whom no test has met."""
        if not self._people:
            self._people = new_people(self.env, BATCH)
        return self._people.pop()

    def start(self) -> Self:
        """Prepare the database and the static files, and start every process."""
        if not self._prepared:
            self.manage("migrate", "-v", "0")
        if not (Path(self.env["STATIC_ROOT"]) / "staticfiles.json").is_file():
            self.manage("collectstatic", "--no-input", "-v", "0")
        for web in self.webs:
            web.launch()
        for web in self.webs:
            web.wait()
        return self

    def close(self) -> None:
        """End every process."""
        for web in self.webs:
            web.kill()

    def manage(self, *arguments: str) -> str:
        """Runs a management command of this site and gives what it prints."""
        done = manage(*arguments, env=self.env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


class MakeCluster(Protocol):
    """Starts a site of several processes: `make_cluster(agent.url, count=3, SITE_NAME="Other")`.

    On PostgreSQL and Redis, unless `DATABASE_URL` or `REDIS_URL` name others or are empty; an
    empty database is SQLite.
    """

    def __call__(self, agent_url: str, /, **settings: Any) -> Cluster: ...


@contextlib.contextmanager
def clusters(folder: Path, static_root: Path, stock: Stock) -> Iterator[MakeCluster]:
    """Ends all that it has made."""
    made: list[Cluster] = []
    databases: list[Database] = []

    def make(agent_url: str, /, **settings: Any) -> Cluster:
        data = folder / f"cluster{len(made)}"
        named = {"TYPEAGENT_SERVER_URL": agent_url, "SECRET_KEY": stock.secret_key, **settings}
        if "REDIS_URL" not in settings:
            require("Redis", REDIS)
            named["REDIS_URL"] = f"redis://{REDIS[0]}:{REDIS[1]}/0"
        if "DATABASE_URL" not in settings:
            require("PostgreSQL", POSTGRES)
            database, people = stock.postgresql()
            databases.append(database)
            named["DATABASE_URL"] = database.url
        elif not settings["DATABASE_URL"]:
            people = stock.sqlite(data / "chat.sqlite3")
        else:
            people = []
        if "SECRET_KEY" not in settings:  # with another their sessions mean nothing
            named["people"] = people
        made.append(Cluster(data, static_root, **named))
        return made[-1].start()

    try:
        yield make
    finally:
        for cluster in made:
            cluster.close()
        for database in databases:
            database.drop()
