"""`manage.py prune_messages`: erases the messages that the site no longer keeps."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chat.models import Conversation
from chat.transcript import retention


class Command(BaseCommand):
    help = "Erase all but the newest messages of each conversation, and those that are too old."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="Only say how many messages would go."
        )
        parser.add_argument(
            "--conversation", metavar="KEY", help="Only this conversation, by the key in its URL."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        limits = retention.limits()
        pk = _conversation_id(options["conversation"])
        if options["dry_run"]:
            verb, count = "Would erase", _count(pk, limits)
        else:
            verb, count = "Erased", _prune(pk, limits)
        messages = f"{count} message" if count == 1 else f"{count} messages"
        kept = f"the newest {limits['max_messages']}, up to {limits['max_age'].days} days old"
        self.stdout.write(f"{verb} {messages} (kept of each conversation: {kept}).")


def _conversation_id(key: str | None) -> int | None:
    if key is None:
        return None
    pk = Conversation.objects.filter(key=key).values_list("pk", flat=True).first()
    if pk is None:
        raise CommandError(f"No conversation has the key {key!r}.")
    return pk


def _count(pk: int | None, limits: retention.Limits) -> int:
    pks = retention.conversation_ids() if pk is None else [pk]
    return sum(len(retention.prunable(pk, **limits)) for pk in pks)


def _prune(pk: int | None, limits: retention.Limits) -> int:
    if pk is None:
        return retention.prune_all(**limits)
    return retention.prune_conversation(pk, **limits)
