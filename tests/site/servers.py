"""Servers of a test's own, which it stops and starts: a Redis, and a valve before a server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest

from tests.processes import PATIENCE_S, free_port

NO_REDIS = "no redis-server here: install Debian's package redis-server"


class Redis:
    """A Redis that forgets everything when it stops."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Starts it, on the port that it had before, and waits until it listens."""
        program = shutil.which("redis-server")
        if program is None:
            if os.environ.get("CI") == "true":
                pytest.fail(NO_REDIS)
            pytest.skip(NO_REDIS)
        self._process = subprocess.Popen(
            [program, "--port", str(self._port), "--bind", "127.0.0.1", "--save", ""],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1):
                return self
            assert time.monotonic() < deadline, "Redis does not listen"
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE_S)
            self._process = None


class Valve:
    """Forwards connections to a port of loopback. Shut, it holds back all that comes in either
    direction, as a network that drops every packet: nobody is told anything.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._open = threading.Event()
        self._open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def close(self) -> None:
        """Ends all connections."""
        self._open.set()
        # To close it would not wake the thread that waits for a connection.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for one in (self._listener, *self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                self._open.wait()
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
