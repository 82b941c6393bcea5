"""From an open socket to a joined conversation whose requests are all where they should be."""

from __future__ import annotations

import structlog
from django.conf import settings

from chat.agentserver.client import AgentServerClient, Joined
from chat.agentserver.errors import InvokeFailed, is_conversation_not_found
from chat.agentserver.events import Event, Json
from chat.agentserver.log import decode_log, newest_seq, oldest_seq
from chat.db import in_db
from chat.models import Conversation
from chat.transcript import history, reading
from chat.transcript.live import LiveTranscript

FIND_AGAIN = 2  # a default conversation that was found may be deleted before it is joined

log = structlog.get_logger(__name__)


async def join_saved(client: AgentServerClient, upstream_id: str) -> Joined | None:
    """Join the conversation that the transcript belongs to; `None` if it is gone for good.

    Every other failure is raised: an outage must not move a user to another conversation.
    """
    if not upstream_id:
        return None
    try:
        return await client.join(upstream_id)
    except InvokeFailed as error:
        if is_conversation_not_found(error):
            return None
        raise


async def join_default(client: AgentServerClient, conversation: Conversation) -> Joined:
    """Join the user's own default conversation, found by its name or made.

    The agent-server's default is shared by everyone, so it is only joined where the site says
    that it has one user.
    """
    if settings.TYPEAGENT_SHARED_DEFAULT:
        return await client.join()
    for _ in range(FIND_AGAIN):
        found = await _find_or_create(client, conversation)
        joined = await join_saved(client, found)
        if joined is not None:
            return joined
    raise InvokeFailed("The agent-server's conversation was deleted again and again.")


async def settle(
    client: AgentServerClient,
    joined: Joined,
    live: LiveTranscript,
    *,
    conversation_id: int,
    cursor: int,
    waiting: list[Event],
) -> tuple[int, int]:
    """Merge what the agent-server's log and queue say.

    Gives the newest `seq`, and how many of the events in `waiting` the log already contains.
    `waiting` are the events since the join, which the caller holds back meanwhile.
    """
    before = client.events_delivered - len(waiting)
    upstream_id = joined.conversation_id
    entries, cut = await _entries_from(client, upstream_id, cursor)
    told = history.group_by_request(
        (entry.seq, entry.at_ms, entry.event) for entry in decode_log(upstream_id, entries)
    )
    alive = history.entries_alive(joined.queue_snapshot, waiting)
    known = await in_db(reading.known_ids, conversation_id, set(told))
    newest = newest_seq(entries)
    after = cursor if newest >= cursor else -1
    history.settle(live, told, alive)
    history.backfill(live, told, alive, known=known, after_seq=after)
    for interaction in joined.pending_interactions:
        live.apply(interaction)
    return newest, cut - before


async def _entries_from(
    client: AgentServerClient, upstream_id: str, cursor: int
) -> tuple[list[dict[str, Json]], int]:
    """The log from the cursor on. If it does not begin there it was cleared: then all of it."""
    if cursor >= 1:
        entries, cut = await client.history_with_cut(upstream_id, cursor - 1)
        if oldest_seq(entries) == cursor:
            return entries, cut
    return await client.history_with_cut(upstream_id)


async def _find_or_create(client: AgentServerClient, conversation: Conversation) -> str:
    """The id of the conversation with this user's name that no other conversation here has.

    Names are compared to the letter: two users whose names differ in case only must not share.
    """
    name = f"{settings.SITE_NAME}: {conversation.user.get_username()}"[:256]
    listed = [item for item in await client.list_conversations(name) if item.get("name") == name]
    taken = await in_db(_taken, [str(item.get("conversationId")) for item in listed])
    for item in listed:
        if item.get("conversationId") not in taken:
            return str(item["conversationId"])
    made = await client.create_conversation(name, append_number=True)
    return str(made["conversationId"])


def _taken(upstream_ids: list[str]) -> set[str]:
    rows = Conversation.objects.filter(upstream_id__in=upstream_ids)
    return set(rows.values_list("upstream_id", flat=True))
