"""Runs the real thing beside the tests: the site, and an agent-server, each as a subprocess."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

from tests.settings import KEPT, PREFIXES

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 120
"""Longest wait for what a healthy machine does at once, or in some seconds. However busy a machine
is: what has not happened after this never happens.
"""


def free_port() -> int:
    """A port on loopback that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def clean_environment(**settings: str) -> dict[str, str]:
    """The environment without any setting of the site, and then with these."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(PREFIXES)}
    for name in KEPT - {"DATABASE_URL"}:
        if name in os.environ:
            kept[name] = os.environ[name]
    kept.pop("DJANGO_SETTINGS_MODULE", None)
    return {**kept, **settings}


def unmeasured(env: dict[str, str]) -> dict[str, str]:
    """The same without coverage, which is slow: for what is killed anyway, or tested elsewhere."""
    return {name: text for name, text in env.items() if name != "COVERAGE_PROCESS_CONFIG"}


def manage(*arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a management command to its end. `env` as `clean_environment` makes it."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


MANAGE = ("-u", "manage.py")


class Command:
    """A management command, or another program of Python's, that goes on running, with the lines
    that it has printed so far.
    """

    def __init__(
        self, *arguments: str, env: dict[str, str], program: tuple[str, ...] = MANAGE
    ) -> None:
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._ended = False
        self.process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def output(self) -> str:
        """Everything that it printed, on stdout and on stderr."""
        return "\n".join(self.lines)

    def wait_for_line(self, prefix: str, *, after: int = 0) -> str:
        """The rest of the first line that begins so, from line number `after` on."""
        with self._news:
            self._news.wait_for(
                lambda: self._ended or self._find(prefix, after) is not None, PATIENCE_S
            )
            found = self._find(prefix, after)
            assert found is not None, f"no line {prefix!r}, but:\n{self.output}"
            return found

    def interrupt(self) -> int:
        """Ctrl-C. Gives the exit code."""
        return self._end_with(signal.SIGINT)

    def terminate(self) -> int:
        """SIGTERM. Gives the exit code."""
        return self._end_with(signal.SIGTERM)

    def kill(self) -> int:
        """`kill -9`. Gives the exit code."""
        return self._end_with(signal.SIGKILL)

    def _end_with(self, number: signal.Signals) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
        self._reader.join(PATIENCE_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def _find(self, prefix: str, after: int) -> str | None:
        for line in self.lines[after:]:
            if line.startswith(prefix):
                return line.removeprefix(prefix).strip()
        return None

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()


class Agent:
    """An embedded agent-server of the test's own, which can be away and come back."""

    def __init__(self, data: Path, *options: str) -> None:
        self.data = data
        self._options = options
        self._port = 0
        self._earlier: list[str] = []
        self.url = ""
        self.command: Command | None = None

    @property
    def lines(self) -> list[str]:
        """What it printed, since its first start."""
        return self._earlier + ([] if self.command is None else self.command.lines)

    def log(self, conversation_id: str) -> list[dict[str, Any]]:
        """The display log of a conversation, as it is on disk."""
        path = self.data / "logs" / f"{conversation_id}.jsonl"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line[-1] == "\n"]

    def start(self) -> Self:
        """Starts it, after a stop on the port that it had before."""
        self._earlier = self.lines
        self.command = Command(
            "localagent",
            *("--port", str(self._port), "--data", str(self.data)),
            *self._options,
            env=unmeasured(clean_environment(SITE_DATA=str(self.data / "site"))),
        )
        self.url = self.command.wait_for_line("localagent: ")
        self._port = int(self.url.rpartition(":")[2])
        return self

    def stop(self) -> None:
        """Ends it in good order."""
        if self.command is not None:
            self.command.terminate()

    def kill(self) -> None:
        """Ends it with `kill -9`."""
        if self.command is not None:
            self.command.kill()


class Site:
    """`manage.py serve` with a data folder of its own, over as many restarts as a test likes."""

    def __init__(self, data: Path, static: Path, *options: str, **settings: str) -> None:
        self.data = data
        self.database = data / "chat.sqlite3"
        self._options = options
        self._port = "0"
        self.env = clean_environment(
            **{"SITE_DATA": str(data), "STATIC_ROOT": str(static), **settings}
        )
        self.url = ""
        self.login_url = ""
        self.command: Command | None = None

    @property
    def process(self) -> subprocess.Popen[str]:
        """The running server."""
        return self._running().process

    @property
    def output(self) -> str:
        """What it printed since its last start."""
        return self._running().output

    @property
    def agent_pid(self) -> int:
        """The process of the embedded agent-server, as last started."""
        started = [line for line in self._running().lines if line.startswith("Agent-server: ")]
        return int(started[-1].rpartition(" ")[2])

    def start(self) -> Self:
        """Starts it, on the port that it had before, and waits until it is ready."""
        self.command = Command("serve", "--port", self._port, *self._options, env=self.env)
        self.url = self.command.wait_for_line("Ready: ").rstrip("/")
        self.login_url = self.command.wait_for_line("Log in: ")
        self._port = self.url.rpartition(":")[2]
        return self

    def stop(self) -> int:
        """SIGTERM, as a service manager does it. Gives the exit code."""
        return self._running().terminate()

    def kill(self) -> int:
        """`kill -9`."""
        return self._running().kill()

    def restart(self) -> Self:
        """Stops it in good order and starts it again."""
        self.stop()
        return self.start()

    def restart_agent(self) -> None:
        """Kills the embedded agent-server, and waits until the site has started it again."""
        seen = len(self._running().lines)
        os.kill(self.agent_pid, signal.SIGKILL)
        self._running().wait_for_line("Agent-server: ", after=seen)

    def manage(self, *arguments: str) -> str:
        """Runs a management command of this site and gives what it prints."""
        done = manage(*arguments, env=self.env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def login_link(self, username: str = "local") -> str:
        """A new one-time link of a user, who is made if missing. Ends links made before."""
        link = self.manage("login_link", "--url", self.url, "--user", username, "--create")
        return link.strip()

    def query(self, sql: str, *parameters: Any) -> list[Any]:
        """Reads the site's SQLite database past the site."""
        reader = sqlite3.connect(self.database)
        try:
            return reader.execute(sql, parameters).fetchall()
        finally:
            reader.close()

    def close(self) -> None:
        """Ends it, if it runs, and drops its data."""
        if self.command is not None:
            self.command.terminate()
        shutil.rmtree(self.data, ignore_errors=True)

    def _running(self) -> Command:
        assert self.command is not None, "the site was not started"
        return self.command


def alive(pid: int) -> bool:
    """Whether a process still runs (a zombie does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
