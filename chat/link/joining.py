"""From an open socket to a joined conversation whose requests are all where they should be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.utils.timezone import now

from chat.agentserver.client import AgentServerClient, Joined
from chat.agentserver.errors import InvokeFailed, UnexpectedAnswer, is_conversation_not_found
from chat.agentserver.events import Event, Json
from chat.agentserver.log import decode_log, newest_seq, oldest_seq
from chat.db import in_db
from chat.models import Conversation
from chat.transcript import conversations, history, reading
from chat.transcript.live import LiveTranscript

FIRST_CONNECTION = "0"  # of a conversation that was loaded for this join (WIRE.md 4)
TRIES = 3  # what was found may be deleted, or taken by another conversation, before it is joined


async def join_saved(client: AgentServerClient, upstream_id: str) -> Joined | None:
    """Join the conversation that the transcript belongs to; `None` if it is gone for good.

    Every other failure is raised: an outage must not move a user to another conversation.
    """
    try:
        return await client.join(upstream_id)
    except InvokeFailed as error:
        if is_conversation_not_found(error):
            return None
        raise


async def join_default(client: AgentServerClient, conversation: Conversation, epoch: int) -> Joined:
    """Join the user's own default conversation, found by its name or made, and save its id.

    The agent-server's default is shared by everyone, so it is only joined where the site says
    that it has one user. Two conversations of one user never share an upstream conversation.
    """
    shared = settings.TYPEAGENT_SHARED_DEFAULT
    for _ in range(TRIES):
        found = None if shared else await _find_or_create(client, conversation)
        joined = await (client.join() if found is None else join_saved(client, found))
        if joined is None:
            continue
        if await in_db(
            conversations.set_upstream,
            conversation.pk,
            epoch,
            joined.conversation_id,
            joined.name,
            shared=shared,
        ):
            return joined
        await client.leave(joined.conversation_id)
        shared = False
    raise InvokeFailed("The agent-server's conversation was deleted again and again.")


@dataclass(frozen=True, slots=True)
class Settled:
    """The newest `seq` of the log, how many of the held events the log contains, and which
    requests show all that the log has of them.
    """

    newest: int
    logged: int
    merged: frozenset[str]


async def settle(
    client: AgentServerClient,
    joined: Joined,
    live: LiveTranscript,
    *,
    conversation_id: int,
    cursor: int,
    held: list[Event],
) -> Settled:
    """Merge what the agent-server's log and queue say.

    `held` grows by the events since the join, which the caller applies afterwards.
    """
    before = client.events_delivered - len(held)
    upstream_id = joined.conversation_id
    entries, cut = await _entries_from(client, upstream_id, cursor)
    account = _account(joined, entries, held, cut - before)
    if entries and oldest_seq(entries) > 0 and await _too_late(live, account, conversation_id):
        cursor = -1
        entries, cut = await client.history_with_cut(upstream_id)
        account = _account(joined, entries, held, cut - before)
    newest = newest_seq(entries)
    live.backfill_after_ms = await in_db(reading.backfill_mark, conversation_id)
    oldest = now() - timedelta(days=settings.CHAT_MAX_AGE_DAYS)
    fresh = history.unknown(
        live,
        account,
        after_seq=cursor if newest >= cursor else -1,
        oldest_ms=int(oldest.timestamp() * 1000),
        limit=settings.CHAT_MAX_MESSAGES,
    )
    known = await in_db(reading.known_ids, conversation_id, set(fresh))
    history.settle(live, account)
    history.backfill(live, account, [name for name in fresh if name not in known])
    return Settled(newest, cut - before, frozenset(account.merged))


def settle_by_queue(joined: Joined, live: LiveTranscript, held: list[Event]) -> None:
    """The same where the log cannot be read: what is not in the queue is given up."""
    history.settle_by_queue(live, _account(joined, [], held, 0))


def _account(
    joined: Joined, entries: list[dict[str, Json]], held: list[Event], logged: int
) -> history.Account:
    decoded = decode_log(joined.conversation_id, entries)
    return history.account_of(
        [(entry.seq, entry.at_ms, entry.event) for entry in decoded],
        joined.queue_snapshot,
        joined.pending_interactions,
        since=held,
        logged=logged,
        goes_on=joined.connection_id not in ("", FIRST_CONNECTION),
    )


async def _entries_from(
    client: AgentServerClient, upstream_id: str, cursor: int
) -> tuple[list[dict[str, Json]], int]:
    """The log from the cursor on. If it does not begin there it was cleared: then all of it."""
    if cursor >= 1:
        entries, cut = await client.history_with_cut(upstream_id, cursor - 1)
        if oldest_seq(entries) == cursor:
            return entries, cut
    return await client.history_with_cut(upstream_id)


async def _too_late(live: LiveTranscript, account: history.Account, conversation_id: int) -> bool:
    """Whether the log was read from too late on: its positions are counted, not told.

    Only what is finished here may have begun before.
    """
    cut = {name for name in account.beginless if live.admits(name)}
    if any(name in cut for name in (request.request_id for request in live.unfinished)):
        return True
    return bool(cut - await in_db(reading.known_ids, conversation_id, cut)) if cut else False


async def _find_or_create(client: AgentServerClient, conversation: Conversation) -> str:
    """The id of the conversation with this user's name that no other conversation here has.

    Names are compared to the letter: two users whose names differ in case only must not share.
    """
    name = f"{settings.SITE_NAME}: {conversation.user.get_username()}"[:256]
    listed = await client.list_conversations(name)
    found = [_id_of(item, "listConversations") for item in listed if item.get("name") == name]
    taken = await in_db(_taken, found, conversation.pk)
    for upstream_id in found:
        if upstream_id not in taken:
            return upstream_id
    made = await client.create_conversation(name, append_number=True)
    return _id_of(made, "createConversation")


def _id_of(item: dict[str, Json], method: str) -> str:
    upstream_id = item.get("conversationId")
    if not isinstance(upstream_id, str) or not upstream_id:
        raise UnexpectedAnswer(method)
    return upstream_id


def _taken(upstream_ids: list[str], conversation_id: int) -> set[str]:
    others = Conversation.objects.exclude(pk=conversation_id).filter(upstream_id__in=upstream_ids)
    return set(others.values_list("upstream_id", flat=True))
