"""`manage.py relay`: runs the links of a site whose web processes leave them alone."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chat.link import hub
from chat.management import serving
from chatsite.lifecycle import Life


class Command(BaseCommand):
    """Serves until SIGTERM or Ctrl-C, and hands everything over to another relay then."""

    help = "Keeps the connections to the agent-server, for a site with LINK_OWNERS=relay."
    # The checks ask the database: they come after it was reached, which is said in one line.
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the relay. Raises CommandError with one clear line if it cannot start."""
        if not settings.REDIS_URL:
            raise CommandError("REDIS_URL is not set: no web process can reach a relay without.")
        serving.check_database()
        self.check()
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        life = Life(self._startup, hub.shutdown, stop_within_s=settings.STOP_WITHIN_S)
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        life.begin()
        await stop.wait()
        await life.end()

    async def _startup(self) -> None:
        await hub.startup(relay=True)
        self.stdout.write(f"Ready: relay, process {os.getpid()}")
        self.stdout.flush()
