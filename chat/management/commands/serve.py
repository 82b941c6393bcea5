"""Runs the whole site on this machine: database, user, static files, agent-server, pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import connection

from chat.management import serving
from chat.management.embedded import EmbeddedAgent


class Command(BaseCommand):
    help = "Prepares everything that is needed and serves the site until Ctrl-C."
    # The checks ask the database: they come after it was reached, which is said in one line.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 lets a phone in")
        parser.add_argument(
            "--port", default=8000, type=serving.port_number, help="0 takes a free one"
        )

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        listener = serving.listen(host, port)
        serving.check_database()
        self.check()
        agent = None if settings.TYPEAGENT_SERVER_URL else self._start_agent()
        try:
            serving.migrate()
            serving.collect_static()
            if agent is not None:
                settings.TYPEAGENT_SERVER_URL = agent.wait_for_url()
                if not settings.TYPEAGENT_SERVER_URL:
                    raise CommandError("The embedded agent-server did not start.")
            self._serve(listener, host)
        except KeyboardInterrupt:
            self._say("Stopped.")
        finally:
            if agent is not None:
                agent.stop()
            connection.close()
            listener.close()

    def _start_agent(self) -> EmbeddedAgent:
        def started(url: str, pid: int) -> None:
            self._say(f"Agent-server: embedded, {url}, process {pid}")

        data = Path(settings.SITE_DATA) / "localagent"
        agent = EmbeddedAgent(settings.BASE_DIR, data, on_start=started)
        agent.start()
        return agent

    def _serve(self, listener: Any, host: str) -> None:
        port = listener.getsockname()[1]
        lan = serving.lan_address() if host in serving.WILDCARDS else ""
        own = "127.0.0.1" if host in serving.WILDCARDS else host
        settings.ALLOWED_HOSTS += [name for name in (own, lan) if name]

        # Imported last: the application is built with the settings as they are now.
        from daphne.server import Server

        from chatsite.asgi import application

        Server(
            application,
            # Twisted takes a copy of the descriptor and closes this one.
            endpoints=[f"fd:fileno={listener.detach()}"],
            verbosity=0,
            server_name="",
            ready_callable=lambda: self._announce(own, lan, port),
        ).run()
        self._say("Stopped.")

    def _announce(self, own: str, lan: str, port: int) -> None:
        user = serving.local_user()
        connection.close()  # or this thread would keep one of the pool's for ever
        self._say(f"Ready: {serving.url_of(own, port)}/")
        self._say(f"Log in: {serving.login_link(serving.url_of(own, port), user)}")
        if lan:
            link = serving.login_link(serving.url_of(lan, port), user)
            self._say(f"On your phone: {link}")
            self._say(serving.qr_code(link))
        self._say("The link works once, within 10 minutes. `manage.py login_link` makes another.")

    def _say(self, line: str) -> None:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        self.stdout.write(line.encode(encoding, "replace").decode(encoding))
        self.stdout.flush()
