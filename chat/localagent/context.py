"""What a running command may do: show things, wait, ask. Cancelled, it stops at its next wait."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .display import Display
from .prompts import Prompts, Question
from .queue import Request
from .wire import Json

if TYPE_CHECKING:
    from .conversation import Conversation

ICONS = {"system": "🔧", "dispatcher": "🤖", "test": "➕", "chat": "💬", "demo": "🎬"}
FAILED = {"status": "failed", "path": "command", "mayHaveSideEffects": False}


class Aborted(Exception):  # noqa: N818 - the user's wish, not a fault
    """The request has been cancelled; raised from whatever the command waits for."""


@dataclass(slots=True)
class Outcome:
    """What `commandComplete` will say."""

    last_error: str | None = None
    cancelled: bool = False
    actions: list[Json] = field(default_factory=list)
    disposition: dict[str, Json] | None = None
    token_usage: dict[str, int] | None = None
    action_token_usage: dict[str, int] | None = None


class CommandContext:
    """One request while it runs."""

    def __init__(self, conversation: Conversation, request: Request) -> None:
        self.conversation = conversation
        self.request = request
        self.ref = request.ref
        self.source = "system"
        self.outcome = Outcome()
        self._began = time.monotonic()
        self._parsed_ms = 0.0
        self._waiting: asyncio.Future[Json] | None = None
        self._on_abort: Callable[[], None] | None = None
        self._aborted = False

    @property
    def display(self) -> Display:
        """Frames that are not a plain piece of content."""
        return self.conversation.display

    @property
    def prompts(self) -> Prompts:
        """Questions and choices of the conversation."""
        return self.conversation.prompts

    def begin(self, source: str, action: list[str]) -> None:
        """Say who answers: the first frame of a command after `setUserRequest`."""
        self.source = source
        self._parsed_ms = self._elapsed_ms()
        self.display.info(self.ref, source, None, action)

    def show(
        self, content: Json, mode: str = "block", *, source: str | None = None, **extra: Json
    ) -> None:
        """Append a piece of content. One of kind `error` makes the request fail."""
        self._note_error(content)
        self.display.append(self.message(content, source, **extra), mode)

    def replace(self, content: Json, *, source: str | None = None, **extra: Json) -> None:
        """Show this instead of all that the request has shown."""
        self._note_error(content)
        self.display.set(self.message(content, source, **extra))

    def message(self, content: Json, source: str | None = None, **extra: Json) -> dict[str, Json]:
        """An `IAgentMessage` of this request."""
        source = source or self.source
        message: dict[str, Json] = {"message": content, "requestId": self.ref, "source": source}
        icon = self.conversation.icon_of(source)
        if icon:
            message["sourceIcon"] = icon
        message.update(extra)
        message["metrics"] = {"parse": {"duration": self._parsed_ms}, "actions": []}
        return message

    def result(self, text: str | None = None, *, index: int = 0, **fields: Json) -> None:
        """Report an action's result: the diagnostic data, and its text as a display."""
        data: dict[str, Json] = {"historyText": text} if text is not None else {}
        data |= {"entities": []} | fields | {"displayContentType": "string"}
        self.diagnose_result(data, index)
        if text is not None:
            self.show(text)

    def diagnose_result(self, result: Json, index: int = 0, source: str | None = None) -> None:
        """The `actionResult` diagnostic."""
        source = source or self.source
        data = {"type": "actionResult", "source": source, "schemaName": source}
        self.display.diagnostic(self.ref, {**data, "actionIndex": index, "result": result})

    def only_me(self, name: str, *args: Json) -> None:
        """A call to the originator alone. Raises WireError if it has gone."""
        self.conversation.audience.send_originator(self.request.originator, name, [self.ref, *args])

    async def pause(self) -> None:
        """Let the others go first: what comes after this is sent behind the submit's answer."""
        await asyncio.sleep(0)
        self._check()

    async def work(self, seconds: float) -> None:
        """Take as long as a demo takes, at the pace of the settings. Raises Aborted."""
        await self.sleep(seconds * self.conversation.settings.pace)

    async def sleep(self, seconds: float) -> None:
        """Wait. Raises Aborted."""
        timer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        handle = timer.get_loop().call_later(seconds, _settle, timer)
        try:
            await self.until(timer)
        finally:
            handle.cancel()

    async def deaf_sleep(self, seconds: float) -> None:
        """Wait, and notice no cancellation until the command is over."""
        await asyncio.sleep(seconds * self.conversation.settings.pace)

    async def until(
        self, future: asyncio.Future[Json], on_abort: Callable[[], None] | None = None
    ) -> Json:
        """Wait for a future. Raises Aborted, and whatever the future fails with.

        `on_abort` is called while the request is being cancelled, before anyone is answered.
        """
        self._check()
        self._waiting, self._on_abort = future, on_abort
        try:
            return await future
        finally:
            self._waiting = self._on_abort = None

    async def ask(
        self, message: str, choices: list[str], default: int | None, *, owned: bool, source: str
    ) -> Json:
        """A blocking question, which a cancel does not unblock (WIRE.md 7)."""
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        request = self.request if owned else None
        question = Question(message, choices, source, answer, default, request)
        return await self.prompts.ask(question)

    async def end_server(self, how: str) -> None:
        """Have the server `shutdown` or `restart`: the command never ends, nor is it answered."""
        self.conversation.control(how)
        await asyncio.get_running_loop().create_future()

    def offer(self, callback: Callable[[Json], Awaitable[None]]) -> str:
        """A choice that is answered later or never; gives its `choiceId`."""
        choice_id = str(uuid.uuid4())

        async def answered(response: Json) -> None:
            self.display.info(self.ref, self.source, 0, None)
            await callback(response)

        self.prompts.offer(answered, choice_id)
        return choice_id

    def abort(self) -> None:
        """The request is cancelled: whatever it waits for raises Aborted."""
        self._aborted = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Aborted())
            if self._on_abort is not None:
                self._on_abort()

    def completion(self) -> dict[str, Json]:
        """The `result` of `commandComplete`."""
        outcome, whole = self.outcome, self._elapsed_ms()
        result: dict[str, Json] = {
            "tokenUsage": outcome.token_usage,
            "actionTokenUsage": outcome.action_token_usage,
            "actions": outcome.actions or None,
            "lastError": outcome.last_error,
            "disposition": outcome.disposition,
            "cancelled": outcome.cancelled or None,
        }
        result = {key: value for key, value in result.items() if value is not None}
        command = {"duration": whole - self._parsed_ms}
        parse = {"duration": self._parsed_ms}
        result["metrics"] = {"parse": parse, "command": command, "actions": [], "duration": whole}
        return result

    def _check(self) -> None:
        if self._aborted:
            raise Aborted

    def _elapsed_ms(self) -> float:
        return (time.monotonic() - self._began) * 1000

    def _note_error(self, content: Json) -> None:
        if isinstance(content, dict) and content.get("kind") == "error":
            text = content.get("content")
            self.outcome.last_error = "\n".join(text) if isinstance(text, list) else str(text)


def text(content: Json, kind: str | None = None) -> dict[str, Json]:
    """Content of type `text`, with its kind if any."""
    return {"type": "text", "content": content} | ({"kind": kind} if kind else {})


def markdown(content: Json) -> dict[str, Json]:
    """Content of type `markdown`."""
    return {"type": "markdown", "content": content}


def _settle(future: asyncio.Future[Json]) -> None:
    if not future.done():
        future.set_result(None)
