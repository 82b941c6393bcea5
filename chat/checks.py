"""What `manage.py check --deploy` says about this site's own settings.

What is an error in `START` stops every server as well (`chatsite.asgi`), not only the command; so
does a SECRET_KEY that can be guessed, which `chatsite.settings` refuses. Beside another process
with which it cannot share the layer or the database, a process waits: see `chat.link.company`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as CheckWarning
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection

from chat.link import company, lease, place

LOCAL_HOSTS = {"localhost", "127.0.0.1", "[::1]", "::1"}
FAR_SYSTEMS = {"afs", "ceph", "cifs", "glusterfs", "nfs", "nfs4", "smb3", "smbfs", "sshfs"}
MOUNTS = Path("/proc/self/mounts")


def refuse_to_start() -> None:
    """Raises ImproperlyConfigured, with what to do, where a server must not run as it is set."""
    for check in START:
        for message in check(None):
            if message.is_serious():
                raise ImproperlyConfigured(f"{message.msg} {message.hint}")


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
    elif settings.DEBUG and settings.TRUST_PROXY:
        yield Error(
            "DEBUG is on, and TRUST_PROXY says that a proxy lets other machines in.",
            hint="Turn DEBUG off.",
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


@register(Tags.compatibility)
def check_relay(app_configs: Any, **kwargs: Any) -> Iterable[CheckMessage]:
    """Only Redis reaches a process that is not this one."""
    if settings.LINK_OWNERS == "relay" and not settings.REDIS_URL:
        yield Error(
            "LINK_OWNERS is relay, and REDIS_URL is not set: no page reaches a relay.",
            hint="Set REDIS_URL for every process, or LINK_OWNERS to web.",
            id="chat.E005",
        )


@register(Tags.compatibility)
def check_sqlite_is_near(app_configs: Any, **kwargs: Any) -> Iterable[CheckMessage]:
    """Over a network neither the locks nor the shared memory of SQLite can be relied on."""
    if connection.vendor != "sqlite":
        return
    system = file_system(Path(connection.settings_dict["NAME"]).absolute())
    if system in FAR_SYSTEMS:
        yield Error(
            f"The SQLite database is on a network file system ({system}), where it breaks.",
            hint="Put it on a disk of this machine, or set DATABASE_URL to a PostgreSQL database.",
            id="chat.E006",
        )


@register(Tags.compatibility, deploy=True)
def check_database_and_layer(app_configs: Any, **kwargs: Any) -> Iterable[CheckMessage]:
    """What serves several processes comes in a pair; one half alone is seldom meant."""
    if connection.vendor == "sqlite" and settings.REDIS_URL:
        yield CheckWarning(
            "REDIS_URL is set, and the database is a SQLite file: it serves one machine only, and "
            "several processes of it wait for each other.",
            hint="Set DATABASE_URL to a PostgreSQL database.",
            id="chat.W007",
        )
    elif connection.vendor != "sqlite" and not settings.REDIS_URL:
        yield CheckWarning(
            "REDIS_URL is not set: a second process of the site waits until the first has ended.",
            hint="Set REDIS_URL for every process, or run one only.",
            id="chat.W008",
        )


@register(Tags.compatibility, deploy=True)
def check_company(app_configs: Any, **kwargs: Any) -> Iterable[CheckMessage]:
    """Whether those that run now may run together."""
    try:
        others = list(lease.places(timedelta(seconds=settings.OWNER_TTL_S)))
    except DatabaseError:
        return  # it is not prepared yet: then nothing runs
    objection = company.objection(others, others[0] if others else place.here())
    if objection:
        yield Error(objection, hint="Then start all of them again.", id="chat.E009")


START = (check_debug, check_relay, check_sqlite_is_near)


def file_system(path: Path) -> str:
    """The kind of file system that a path is on, such as `ext4`; empty where none can be told."""
    try:
        rows = [row.split() for row in MOUNTS.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return ""
    above = [row for row in rows if path.is_relative_to(row[1].replace("\\040", " "))]
    # Of two at one place the later one covers the other.
    kind = max(enumerate(above), key=lambda found: (len(found[1][1]), found[0]))[1][2]
    return kind.removeprefix("fuse.")
