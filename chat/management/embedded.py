"""Keeps the embedded agent-server running as a child process, for as long as this one lives."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from chat.management.embedded_process import PREFIX

BACKOFF_S = (0.2, 0.5, 1, 2, 5)
"""Pauses before the child is started again; the last one repeats."""
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 5


class EmbeddedAgent:
    """The embedded agent-server as a child: started again when it dies, on the same port.

    `base` is the folder of manage.py. Each start calls `on_start`, from another thread, with the
    address and the process's id. The child does not outlive this process.
    """

    def __init__(self, base: Path, data: Path, *, on_start: Callable[[str, int], None]) -> None:
        self._base = base
        self._data = data
        self._on_start = on_start
        self._url = ""
        self._settled = threading.Event()
        self._stopping = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._keep_running, daemon=True)

    def start(self) -> None:
        """Starts the child and returns at once."""
        self._thread.start()

    def wait_for_url(self) -> str:
        """The address of the child, once it listens; "" if it ended or took too long."""
        self._settled.wait(START_TIMEOUT_S)
        return self._url

    def stop(self) -> None:
        """Ends the child and waits until it is gone."""
        self._stopping.set()
        process = self._process
        if process is not None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
        self._thread.join(STOP_TIMEOUT_S)

    def _keep_running(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            listened = self._run_once()
            if not self._url:
                break
            failures = 0 if listened else failures + 1
            self._stopping.wait(BACKOFF_S[min(failures, len(BACKOFF_S) - 1)])
        self._settled.set()

    def _run_once(self) -> bool:
        port = self._url.rpartition(":")[2] or "0"
        program = [sys.executable, "-m", "chat.management.embedded_process"]
        # In a session of its own, so that Ctrl-C reaches the site first, which then ends it.
        with subprocess.Popen(  # noqa: S603
            [*program, port, str(self._data)],
            cwd=self._base,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            self._process = process
            if self._stopping.is_set():
                process.kill()
            listened = False
            assert process.stdout is not None  # noqa: S101
            for line in process.stdout:
                if line.startswith(PREFIX):
                    listened = True
                    self._url = line.removeprefix(PREFIX).strip()
                    self._on_start(self._url, process.pid)
                    self._settled.set()
        return listened
