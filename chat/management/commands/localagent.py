"""`manage.py localagent`: the embedded agent-server, for a first run and for trying things out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chat.localagent import Settings
from chat.localagent.process import run

WAITS = {
    "grace": "after the last client has left, until queued requests are cancelled",
    "idle": "after the last client has left, until a conversation is unloaded",
    "drain": "after SIGTERM, for a running command to end",
    "interaction_timeout": "until an unanswered question gets its default",
    "ping_interval": "between two pings to each client",
    "word_delay": "between two words of the built-in responder",
}


class Command(BaseCommand):
    """Serves until SIGTERM or Ctrl-C; the first line of its output says where."""

    help = "Runs the embedded agent-server."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """The address, the data directory, and every wait in seconds."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8999, help="0 takes a free one")
        parser.add_argument("--data", type=Path, required=True, help="directory, made if missing")
        parser.add_argument("--show-joins", action="store_true", help="a line for every join")
        for name, what in WAITS.items():
            default = getattr(Settings(), f"{name}_s")
            option = f"--{name.replace('_', '-')}"
            shown = f"seconds {what}; {default:g} by default"
            parser.add_argument(option, type=float, default=default, help=shown)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the server. Raises CommandError with one clear line if it cannot start."""
        settings = Settings(**{f"{name}_s": options[name] for name in WAITS})
        on_join = self._joined if options["show_joins"] else None
        where = options["data"], options["host"], options["port"]
        try:
            asyncio.run(run(*where, settings, self._announce, on_join))
        except (OSError, OverflowError) as error:
            address = f"{options['host']}:{options['port']}"
            raise CommandError(f"localagent: cannot serve on {address}: {error}") from error

    def _announce(self, url: str) -> None:
        self._say(f"localagent: {url}")

    def _joined(self, conversation_id: str, clients: int) -> None:
        self._say(f"joined: {conversation_id} {clients}")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
