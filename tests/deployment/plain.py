"""The site as a service manager runs it: `daphne chatsite.asgi:application` and no option more."""

from __future__ import annotations

import socket
import time
from typing import Self

from tests.processes import PATIENCE_S, Command, Site, free_port

DAPHNE = ("-um", "daphne")


class PlainSite(Site):
    """One Daphne on SQLite, with its access log."""

    def start(self) -> Self:
        """Prepares the database, starts Daphne and waits until it listens."""
        self.manage("migrate")
        port = free_port()
        application = ("-p", str(port), "chatsite.asgi:application")
        self.command = Command(*application, env=self.env, program=DAPHNE)
        wait_for_port(port, self.command)
        self.url = f"http://127.0.0.1:{port}"
        return self


def wait_for_port(port: int, command: Command) -> None:
    """Until something listens there. Fails at once when `command` has ended."""
    deadline = time.monotonic() + PATIENCE_S
    while not listens(port):
        assert command.process.poll() is None, command.output
        assert time.monotonic() < deadline, command.output
        time.sleep(0.05)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
