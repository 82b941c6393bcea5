"""Prints a link that logs a user in once, for who started the site or forgot a password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError, CommandParser

from chat.management.serving import LOCAL_USER, login_link


class Command(BaseCommand):
    help = "Prints a link that logs a user in, once and within 10 minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", default=LOCAL_USER, help="the user's name")
        parser.add_argument("--create", action="store_true", help="make the user if missing")
        parser.add_argument(
            "--url", default="http://127.0.0.1:8000", help="where people reach the site"
        )

    def handle(self, *args: Any, user: str, create: bool, url: str, **options: Any) -> None:
        users = get_user_model()
        found = users.objects.filter(**{users.USERNAME_FIELD: user}).first()
        if found is None:
            if not create:
                raise CommandError(f"There is no user {user!r}.")
            found = users.objects.create_user(user)
        self.stdout.write(login_link(url.rstrip("/"), found))
