"""What `manage.py check --deploy` says about this site's own settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as CheckWarning

LOCAL_HOSTS = {"localhost", "127.0.0.1", "[::1]", "::1"}


@register(Tags.security, deploy=True)
def check_secret_key(app_configs: Any, **kwargs: Any) -> Iterable[CheckMessage]:
    """A key that the site made itself is good, but no other machine has it."""
    if settings.SECRET_KEY_FILE.is_file() and (
        settings.SECRET_KEY_FILE.read_text(encoding="utf-8").strip() == settings.SECRET_KEY
    ):
        yield CheckWarning(
            "SECRET_KEY is not set: the site uses one that it made and keeps in SITE_DATA.",
            hint="Set SECRET_KEY or SECRET_KEY_FILE, the same for every process of the site.",
            id="chat.W001",
        )


@register(Tags.security, deploy=True)
def check_allowed_hosts(app_configs: Any, **kwargs: Any) -> Iterable[CheckMessage]:
    """With any host allowed, a WebSocket from any page that another site serves is let in."""
    if "*" in settings.ALLOWED_HOSTS:
        yield CheckWarning(
            "ALLOWED_HOSTS has '*': a page of any other site may open this site's WebSocket.",
            hint="List the names by which people reach the site.",
            id="chat.W002",
        )


@register(Tags.security)
def check_debug(app_configs: Any, **kwargs: Any) -> Iterable[CheckMessage]:
    """Pages with tracebacks and settings are for this machine only."""
    if settings.DEBUG and not LOCAL_HOSTS.issuperset(settings.ALLOWED_HOSTS):
        yield Error(
            "DEBUG is on, and ALLOWED_HOSTS lets other machines in.",
            hint="Turn DEBUG off, or allow only localhost.",
            id="chat.E003",
        )


@register(Tags.compatibility, deploy=True)
def check_agent_server(app_configs: Any, **kwargs: Any) -> Iterable[CheckMessage]:
    """Only `manage.py serve` brings an agent-server of its own."""
    if not settings.TYPEAGENT_SERVER_URL:
        yield CheckWarning(
            "TYPEAGENT_SERVER_URL is not set.",
            hint="Only `manage.py serve` starts an agent-server of its own.",
            id="chat.W004",
        )
