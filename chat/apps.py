"""Names the app for Django, and connects its system checks and its signal receivers."""

from __future__ import annotations

from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from chat import checks, sqlite  # noqa: F401
