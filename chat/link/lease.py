"""Which process owns which conversation: heartbeats, claims and releases, in the database.

The only writer of `Process` rows and of the owner columns. All times are the database's own.
Blocking: call it through `in_db`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from chat.link import place
from chat.models import UNFINISHED, Conversation, LinkState, Process, Request

FORGET_PROCESSES_AFTER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Owner:
    """A living owner: where to reach it, and the epoch under which it writes."""

    process_id: UUID
    channel: str
    epoch: int


def register(process_id: UUID, channel: str, *, owns: bool = True) -> None:
    """Make this process known, and forget those that are known to be dead."""
    me = place.here()
    Process.objects.update_or_create(
        id=process_id,
        defaults={
            "channel": channel,
            "owns": owns,
            "machine": me.machine,
            "run": me.run,
            "beat_at": Now(),
            "started_at": Now(),
        },
    )
    gone = [pk for pk, other in _places(Process.objects.all()) if place.is_gone(other)]
    Process.objects.filter(Q(beat_at__lt=Now() - FORGET_PROCESSES_AFTER) | Q(id__in=gone)).delete()


def elders(process_id: UUID, ttl: timedelta) -> list[place.Place]:
    """Where the living processes are that were known before this one."""
    me = Process.objects.filter(id=process_id).values_list("started_at", flat=True).first()
    earlier = Q(started_at__lt=me) | Q(started_at=me, id__lt=process_id)
    return [where for _, where in _places(_living(ttl).filter(earlier))] if me else []


def places(ttl: timedelta) -> set[place.Place]:
    """Where the living processes are."""
    return {where for _, where in _places(_living(ttl))}


def step_down(process_id: UUID) -> None:
    """This process is not to be asked any more to own anything."""
    Process.objects.filter(id=process_id).update(owns=False)


def idlest(ttl: timedelta) -> str | None:
    """The channel of the living process with the fewest conversations of those that may own
    some; by chance where several have as few.
    """
    candidates = _living(ttl).filter(owns=True).annotate(load=Count("conversations"))
    return candidates.order_by("load", "?").values_list("channel", flat=True).first()


def beat(process_id: UUID) -> bool:
    """Say that this process lives. False: it was forgotten meanwhile."""
    return Process.objects.filter(id=process_id).update(beat_at=Now()) == 1


def claim(conversation_id: int, process_id: UUID, ttl: timedelta) -> int | None:
    """Become the owner unless another living process is; the new epoch, or `None` if refused.

    One conditional UPDATE, so of any number of processes exactly one succeeds. What this process
    owned before is claimed anew: it asks when it has no link, so an earlier one has ended badly.
    """
    free = Conversation.objects.filter(
        _no_living_owner(ttl) | Q(owner_id=process_id), id=conversation_id
    )
    won = free.update(
        owner_id=process_id, owner_epoch=F("owner_epoch") + 1, link_state=LinkState.CONNECTING
    )
    if not won:
        return None
    mine = Conversation.objects.filter(id=conversation_id, owner_id=process_id)
    epoch: int | None = mine.values_list("owner_epoch", flat=True).first()
    return epoch


def release(conversation_id: int, process_id: UUID, epoch: int) -> None:
    """Give a conversation up, unless somebody else has it by now."""
    Conversation.objects.filter(id=conversation_id, owner_id=process_id, owner_epoch=epoch).update(
        owner=None, link_state=LinkState.CLOSED, link_error=""
    )


def retire(process_id: UUID) -> None:
    """Forget this process at its end; what it still owned is free at once."""
    Conversation.objects.filter(owner_id=process_id).update(owner=None, link_state=LinkState.CLOSED)
    Process.objects.filter(id=process_id).delete()


def living_owners(conversation_ids: list[int], ttl: timedelta) -> dict[int, Owner]:
    """The living owner of each of these conversations that has one."""
    rows = (
        Conversation.objects.filter(id__in=conversation_ids)
        .exclude(_no_living_owner(ttl))
        .values_list("id", "owner_id", "owner__channel", "owner_epoch")
    )
    return {pk: Owner(owner, channel, epoch) for pk, owner, channel, epoch in rows}


def orphans(ttl: timedelta) -> list[int]:
    """Conversations with work under way and no living owner: what a crash left behind."""
    unfinished = Request.objects.filter(conversation=OuterRef("pk"), state__in=UNFINISHED)
    rows: QuerySet[Conversation] = Conversation.objects.filter(
        _no_living_owner(ttl), Exists(unfinished)
    )
    return list(rows.values_list("id", flat=True))


def revisions(process_id: UUID) -> dict[int, tuple[int, int]]:
    """Epoch and revision of every conversation of this process: a lost poke shows here."""
    rows = Conversation.objects.filter(owner_id=process_id).values_list(
        "id", "owner_epoch", "revision"
    )
    return {pk: (epoch, revision) for pk, epoch, revision in rows}


def _living(ttl: timedelta) -> QuerySet[Process]:
    """A beat from the future is one from before the clock was set back: of who lives there will
    be another at once, and who is dead must not live on until then.
    """
    return Process.objects.filter(beat_at__gt=Now() - ttl, beat_at__lt=Now() + ttl)


def _no_living_owner(ttl: timedelta) -> Q:
    return Q(owner=None) | Q(~Exists(_living(ttl).filter(id=OuterRef("owner_id"))))


def _places(processes: QuerySet[Process]) -> list[tuple[UUID, place.Place]]:
    rows = processes.values_list("id", "machine", "run")
    return [(pk, place.Place(machine, run)) for pk, machine, run in rows]
