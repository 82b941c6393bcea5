"""The embedded agent-server as a child that does not outlive its parent.

It does what `manage.py localagent` does, without Django, which would take longest to start. The
parent holds the other end of its standard input: however the parent ends, `kill -9` included, the
input then ends, and so does this process.
"""

from __future__ import annotations

import asyncio
import logging.config
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from chat.localagent import Settings
from chat.localagent.process import run
from chatsite import env, logs

PREFIX = "localagent: "
"""What the line begins with that tells the address."""
HARD_EXIT_S = 5


def main(port: int, data: Path) -> None:
    """Serves on loopback until the standard input ends or Ctrl-C comes."""
    # A shell that starts the site in the background has it ignore Ctrl-C, which is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    set_up_logs()
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(run(data, "127.0.0.1", port, Settings(), _announce))
    except OSError as error:
        sys.exit(f"The embedded agent-server cannot run: {error.strerror or error}")


def set_up_logs() -> None:
    """As the site logs, so that this process's lines do not hold what was said either."""
    form = env.one_of("LOG_FORMAT", "text", logs.FORMATS)
    level = env.one_of("LOG_LEVEL", "INFO", logs.LEVELS)
    logging.config.dictConfig(logs.configure(debug=False, secrets=[], form=form, level=level))


def _announce(url: str) -> None:
    sys.stdout.write(f"{PREFIX}{url}\n")
    sys.stdout.flush()


def _end_with_stdin() -> None:
    # Read past Python's own buffer, whose lock must not be held when the interpreter ends.
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(HARD_EXIT_S)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
