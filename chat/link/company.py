"""Which processes may serve the site together: refuses what would lose messages or rows."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from channels.layers import InMemoryChannelLayer, get_channel_layer
from django.db import connection

from chat.link import lease, place

NO_REDIS = (
    "Another process serves this site already, and without REDIS_URL neither reaches the pages "
    "of the other. Set REDIS_URL for all of them, or run one process only."
)
FAR_SQLITE = (
    "A process on another machine serves this site already, and a SQLite database cannot be "
    "shared by machines. Set DATABASE_URL to a PostgreSQL database."
)


class MayNotServe(Exception):  # noqa: N818 - a refusal, not a fault
    """This process must wait until another one has ended."""


def join(process_id: UUID, channel: str, ttl: timedelta, *, owns: bool) -> None:
    """Make this process known, if it may serve beside those that were there before.

    Raises `MayNotServe`, with what to do; the process is not known then.
    """
    lease.register(process_id, channel, owns=owns)
    reason = objection(lease.elders(process_id, ttl), place.here())
    if reason:
        lease.retire(process_id)
        raise MayNotServe(reason)


def objection(others: list[place.Place], me: place.Place) -> str:
    """Why a process at `me` may not serve beside the others; empty if it may."""
    in_memory = isinstance(get_channel_layer(), InMemoryChannelLayer)
    if connection.vendor == "sqlite" and any(other.machine != me.machine for other in others):
        return FAR_SQLITE
    if in_memory and any(other != me for other in others):
        return NO_REDIS
    return ""
