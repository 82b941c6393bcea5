"""One open page: receives pushes over its WebSocket, in order and without gaps.

It renders nothing and queries nothing for a push; what a page lacks the owner tells it.
"""

from __future__ import annotations

import asyncio
import json
from itertools import count
from typing import Any

import structlog
from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import DatabaseError
from django.utils.html import format_html
from structlog.contextvars import bind_contextvars

from chat.db import in_db
from chat.display.words import clean_text
from chat.link import hub
from chat.link.fragments import connection_html, difference_since, revision_html
from chat.link.publisher import group_name
from chat.link.status import UNANSWERED, UNOWNED
from chat.link.tasks import cancelled, spawn
from chat.models import Conversation
from chat.pages.access import find_conversation
from chat.pages.sessions import session_group, still_signed_in

NOT_SIGNED_IN = 4401
NO_SUCH_CONVERSATION = 4404
SERVER_ENDS = 1011
HELD_MAX = 200
ATTACH_AGAIN_S = 2.0
UNANSWERED_TRIES = 2  # then the page is told, and sees what is stored

log = structlog.get_logger(__name__)


class PageConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Attaches to the conversation's owner and forwards what it pushes.

    While it waits for an answer, pushes are held; a gap or another epoch makes it ask again.
    """

    conversation: Conversation | None = None

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Without the stock hop to a database thread: a burst of pushes must not wait for it."""
        handler = getattr(self, get_handler_name(message), None)
        if handler is not None:
            await handler(message)

    async def connect(self) -> None:
        await self.accept()
        self._revision = 0
        self._epoch: int | None = None
        self._number = 0
        self._held: list[dict[str, Any]] | None = []
        self._attaching: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        try:
            conversation = await in_db(self._admitted)
        except DatabaseError as error:
            log.warning("page not let in", error=type(error).__name__)
            conversation = SERVER_ENDS
        here = hub.current()
        if isinstance(conversation, int) or here is None:
            await self.close(conversation if isinstance(conversation, int) else SERVER_ENDS)
            return
        self.conversation = conversation
        bind_contextvars(conversation=conversation.pk)
        for group in (group_name(conversation.pk), session_group(self.scope)):
            await self.channel_layer.group_add(group, self.channel_name)
        here.page_opened(conversation.pk, self)
        self._watching = spawn(self._watch_session(), name="session watch")

    async def disconnect(self, code: int) -> None:
        if self.conversation is None:
            return
        await cancelled(self._watching)
        await cancelled(self._attaching)
        for group in (group_name(self.conversation.pk), session_group(self.scope)):
            await self.channel_layer.group_discard(group, self.channel_name)
        here = hub.current()
        if here is not None:
            await here.page_closed(self.conversation.pk, self)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """What the page says. Anything else than these two is ignored (see C52)."""
        try:
            message = json.loads(text_data or "")
            kind = message["type"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return
        if kind == "hello":
            self._hello(message.get("revision"))
        elif kind == "ping":
            number = clean_text(str(message.get("n", ""))[:20])
            await self._deliver(
                format_html('<span id="pong" hidden data-n="{}" hx-swap-oob="true"></span>', number)
            )

    def _hello(self, revision: object) -> None:
        """A page cannot know more than there is, unless the database was put back: then, as for
        anything that is no revision, it gets everything.
        """
        if self.conversation is None:
            return
        newest = max(self.conversation.revision, self._revision)
        valid = isinstance(revision, int) and 0 <= revision <= newest
        self._revision = revision if isinstance(revision, int) and valid else 0
        self.reattach()

    def reattach(self) -> None:
        """Ask the owner, whoever that is now, for what this page lacks."""
        if self.conversation is None:
            return
        self._held = []
        self._ask()

    def _ask(self) -> None:
        if self._attaching is None or self._attaching.done():
            self._attaching = spawn(self._attach(), name="attach")

    async def page_push(self, message: dict[str, Any]) -> None:
        if self._held is not None:
            self._held.append(message)
            del self._held[:-HELD_MAX]
        else:
            await self._forward(message)

    async def page_synced(self, message: dict[str, Any]) -> None:
        """A late answer, to a question from before the page knew more, would set it back."""
        held = self._held
        if held is None or message["since"] != self._revision:
            return
        self._answered()
        self._epoch, self._number = message["epoch"], message["number"]
        await self._send(message)
        for push in held:
            await self.page_push(push)

    def _answered(self) -> None:
        """At one go: who asks anew in between would find a task that still ends, and start none."""
        self._held = None
        if self._attaching is not None:
            self._attaching.cancel()
            self._attaching = None

    async def page_newest(self, message: dict[str, Any]) -> None:
        """The last push was lost, and its repetition too, if this is not what came last."""
        newest = message["epoch"], message["number"]
        if self._held is None and newest != (self._epoch, self._number):
            self.reattach()

    async def page_orphaned(self, message: dict[str, Any]) -> None:
        self.reattach()

    async def page_unowned(self, message: dict[str, Any]) -> None:
        """Nobody can answer: the page says so, and goes on asking."""
        if self.conversation is None:
            return
        await self._deliver(connection_html(self.conversation.key, UNOWNED))
        if self._held is None:
            self.reattach()

    async def page_signed_out(self, message: dict[str, Any]) -> None:
        await self.close(NOT_SIGNED_IN)

    async def _forward(self, message: dict[str, Any]) -> None:
        """In order and once: an old push is dropped, a gap is asked for (Invariant 3)."""
        same = message["epoch"] == self._epoch
        if same and message["number"] <= self._number:
            return
        if same and message["number"] == self._number + 1:
            self._number += 1
            await self._send(message)
        elif self._epoch is None or message["epoch"] >= self._epoch:
            self.reattach()
            await self.page_push(message)

    async def _send(self, message: dict[str, Any]) -> None:
        self._revision = max(self._revision, message["revision"])
        await self._deliver(message["html"])

    async def _deliver(self, html: str) -> None:
        """A browser may be gone before its `disconnect` is seen; each server raises its own
        kind of error then, and none of them is one of ours.
        """
        try:
            await self.send(html)
        except Exception as error:
            log.debug("page is gone", error=type(error).__name__)

    async def _attach(self) -> None:
        """Until answered: the layer may lose the question as well as the answer."""
        assert self.conversation is not None  # noqa: S101 - reattach made sure
        for tries in count():
            here = hub.current()
            if here is None:
                return
            if tries == UNANSWERED_TRIES:
                await self._deliver(connection_html(self.conversation.key, UNANSWERED))
            if tries >= UNANSWERED_TRIES:
                await self._look_up()
            await here.attach(self.conversation.pk, self.channel_name, self._revision)
            await asyncio.sleep(ATTACH_AGAIN_S)

    async def _look_up(self) -> None:
        """What nobody tells is in the database, a little later."""
        assert self.conversation is not None  # noqa: S101 - reattach made sure
        key, pk, known = self.conversation.key, self.conversation.pk, self._revision
        try:
            html, revision = await in_db(difference_since, key, pk, known)
        except (DatabaseError, Conversation.DoesNotExist) as error:
            log.warning("not looked up", error=type(error).__name__)
            return
        if revision != known:
            self._revision = revision
            await self._deliver(html + revision_html(revision))

    async def _watch_session(self) -> None:
        """The user of a socket is fixed when it opens; the login may end before it (see C54).

        At the same time it is found out whether the last push was lost: after it comes none that
        would show the gap.
        """
        while True:
            await asyncio.sleep(settings.SESSION_CHECK_S)
            try:
                admitted = await in_db(self._admitted)
            except Exception as error:
                log.warning("session not checked", error=type(error).__name__)
                continue
            if isinstance(admitted, int):
                await self.close(admitted)
                return
            if self._held is not None:
                if self._attaching is not None:
                    self._ask()  # it does, unless a fault has ended that
            elif admitted.revision > self._revision:
                self.reattach()
            elif (here := hub.current()) is not None:
                await here.check(admitted.pk, self.channel_name)

    def _admitted(self) -> Conversation | int:
        """What this socket may show, or the close code that says why not. Asks the database."""
        if not still_signed_in(self.scope):
            return NOT_SIGNED_IN
        key = self.scope["url_route"]["kwargs"]["key"]
        return find_conversation(self.scope["user"], key) or NO_SUCH_CONVERSATION
