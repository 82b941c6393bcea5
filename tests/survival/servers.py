"""A Redis and a PostgreSQL of a test's own, on free ports, which it may stop, pause and start."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

import pytest

from tests.processes import PATIENCE_S, free_port

LOOK_EVERY_S = 0.05
POSTGRES_FOLDER = Path("/usr/lib/postgresql")
POSTGRES_SPEED = ("-c", "fsync=off", "-c", "full_page_writes=off")


def require_program(name: str, found: str | None) -> str:
    """Its path. A test without it is skipped; in CI that is a fault."""
    if found is not None:
        return found
    if os.environ.get("CI") == "true":
        pytest.fail(f"{name} is not installed")
    pytest.skip(f"{name} is not installed")


class RedisServer:
    """Keeps nothing on disk: a restart forgets all, as it always does subscriptions."""

    def __init__(self) -> None:
        names = ("redis-server", "valkey-server")
        found = next(filter(None, map(shutil.which, names)), None)
        self._program = require_program("redis-server", found)
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Returns when it answers."""
        options = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
        self._process = subprocess.Popen(
            [self._program, "--port", str(self.port), *options], stdout=subprocess.DEVNULL
        )
        wait_for_port(self.port)
        return self

    def kill(self) -> None:
        """`kill -9`. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(PATIENCE_S)

    def pause(self) -> None:
        """It stays connected, takes in, and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


class PostgresServer:
    """A cluster in a folder of its own. It refuses to run as root: the user `postgres` does."""

    user = "postgres"

    def __init__(self) -> None:
        programs = max(map(str, POSTGRES_FOLDER.glob("*/bin")), default=None)
        self._programs = Path(require_program("PostgreSQL", programs))
        # Not in pytest's folder, into which no other user can look.
        self._folder = Path(tempfile.mkdtemp(prefix="chat-postgresql-"))
        self._as_user = ["runuser", "-u", self.user, "--"] if os.geteuid() == 0 else []
        self.port = free_port()
        self.where = ("127.0.0.1", self.port)

    def create(self) -> Self:
        """Make it, without any data."""
        if self._as_user:
            shutil.chown(self._folder, self.user)
        self._run("initdb", "-A", "trust", "-U", self.user, "--no-sync", str(self._data))
        return self

    def start(self) -> Self:
        """Returns when it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self._folder} "
        log = str(self._folder / "log")
        self._ctl("start", "-l", log, "-o", options + " ".join(POSTGRES_SPEED))
        return self

    def stop(self, mode: str = "fast") -> None:
        """`fast` ends every connection in good order, `immediate` is as a crash."""
        self._ctl("stop", "-m", mode)

    def remove(self) -> None:
        """End it, if it runs, and delete its files."""
        if (self._data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self._folder)

    def _ctl(self, action: str, *options: str) -> None:
        self._run("pg_ctl", action, "-w", "-D", str(self._data), *options)

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [*self._as_user, str(self._programs / program), *arguments],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{program} {arguments}: {done.returncode}"


def wait_for_port(port: int) -> None:
    """Until something listens on that port of loopback."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(LOOK_EVERY_S)
    raise AssertionError(f"nothing listens on {port}")
