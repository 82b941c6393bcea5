"""`manage.py runserver`: Daphne's development server, which hands over its links at a reload."""

from __future__ import annotations

from typing import Any

from daphne.management.commands.runserver import Command as DaphneCommand
from django.conf import settings

from chatsite.lifecycle import end_reactor


class Command(DaphneCommand):  # type: ignore[misc]
    """The server runs in a thread that Django would cut off when a file changes."""

    def run(self, **options: Any) -> None:
        """Until the end, or until a file has changed."""
        try:
            super().run(**options)
        finally:
            end_reactor(settings.STOP_WITHIN_S)
