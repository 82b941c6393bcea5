"""The methods of one client's `dispatcher:<id>` channel (WIRE.md 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .agents import BUILT_IN
from .audience import Client
from .completion import complete
from .connection import Channel
from .hidden import Feedback
from .queue import QueueFull, Request
from .wire import UNDEFINED, Args, Json, NeverAnswered, WireError

if TYPE_CHECKING:
    from .conversation import Conversation

WORKING_DIRECTORY = "."


class Dispatcher:
    """What one joined client may ask of its conversation."""

    def __init__(
        self,
        conversation: Conversation,
        client: Client,
        on_submit: Callable[[], None],
        on_close: Callable[[], None],
    ) -> None:
        self._conversation = conversation
        self._client = client
        self._on_submit = on_submit
        self._on_close = on_close
        self._feedback = Feedback(conversation.audience, conversation.log)

    def channel(self) -> Channel:
        """The channel's methods and calls."""
        conversation, feedback = self._conversation, self._feedback
        return Channel(
            invokes={
                "submitCommand": self._submit,
                "interrupt": self._interrupt,
                "cancelCommand": self._cancel,
                "promoteCommand": lambda args: conversation.queue.promote(args[0]),
                "getQueueSnapshot": lambda _args: conversation.queue.snapshot(),
                "getDisplayHistory": lambda args: conversation.log.after(args[0]),
                "respondToChoice": self._respond_to_choice,
                "respondToInteraction": self._respond_to_interaction,
                "getCommandCompletion": lambda args: complete(args[0]),
                "getStatus": lambda _args: conversation.agents.status(),
                "getAgentSchemas": lambda args: conversation.agents.schemas(args[0]),
                "recordUserFeedback": feedback.rate,
                "recordUserHide": feedback.hide,
                "restoreAllHidden": lambda _args: feedback.restore_all(),
                "flushHidden": lambda _args: feedback.flush(),
                "getDeveloperMode": lambda _args: False,
                "getDynamicDisplay": self._dynamic_display,
                "checkCache": lambda _args: {"lastError": "No cache match found"},
                "getTemplateSchema": self._no_template,
                "getTemplateCompletion": self._no_template,
                "close": self._close,
            },
            calls={
                "cancelCommandByClientId": lambda args: conversation.cancel_by_client_id(args[0]),
                "cancelInteraction": lambda args: conversation.prompts.cancel(args[0]),
            },
        )

    def _submit(self, args: Args) -> Json:
        return self._take(args, interrupt=False)

    def _interrupt(self, args: Args) -> Json:
        return self._take(args, interrupt=True)

    def _take(self, args: Args, *, interrupt: bool) -> Json:
        request = self._request(args, interrupt=interrupt)
        if self._conversation.stopping:
            return {"ok": False, "error": "server_stopping"}
        try:
            self._conversation.submit(request, interrupt=interrupt)
        except QueueFull:
            depth = self._conversation.queue.max_depth
            return {"ok": False, "error": "queue_full", "maxDepth": depth}
        self._on_submit()
        return _accepted(request.entry())

    def _request(self, args: Args, *, interrupt: bool) -> Request:
        text = args[0]
        if text is UNDEFINED or text is None:
            shown = "undefined" if text is UNDEFINED else "null"
            raise WireError(f"Cannot read properties of {shown} (reading 'matchAll')")
        if not isinstance(text, str):
            raise WireError("request.matchAll is not a function")
        attachments, options = args.or_none(1), args.or_none(2)
        options = options if isinstance(options, dict) else {}
        request = Request(
            text=text,
            originator=self._client.connection_id,
            options=options if interrupt else {"workingDirectory": WORKING_DIRECTORY} | options,
            attachments=attachments if isinstance(attachments, list) else [],
            client_request_id=args.or_none(3),
        )
        if isinstance(own_id := args[4], str) and own_id:
            request.request_id = own_id
        return request

    def _cancel(self, args: Args) -> Json:
        kind = self._conversation.cancel(args[0])
        return {"kind": kind} | ({} if args[0] is UNDEFINED else {"requestId": args[0]})

    async def _respond_to_choice(self, args: Args) -> Json:
        async with self._conversation.command_lock:
            callback = self._conversation.prompts.take_choice(args[0])
            await callback(args.or_none(1))

    def _respond_to_interaction(self, args: Args) -> Json:
        self._conversation.prompts.respond(args)
        return _nothing()

    def _dynamic_display(self, args: Args) -> Json:
        agent, kind, display_id = args[0], args[1], args[2]
        if agent not in BUILT_IN:
            raise WireError(f"Unknown app agent: {agent}")
        if agent != "test":
            raise WireError(f"Dynamic display not supported by '{agent}'")
        refreshes = self._conversation.count_refresh(str(display_id))
        content = {"type": kind, "content": f"dynamic {display_id} {kind} #{refreshes}"}
        return {"content": content, "nextRefreshMs": 500 if refreshes < 3 else -1}

    def _no_template(self, args: Args) -> Json:
        raise WireError(f"Template schema not supported by '{args[0]}'")

    def _close(self, _args: Args) -> Json:
        self._on_close()
        raise NeverAnswered


async def _nothing() -> None:
    """An empty answer. As a coroutine it is sent behind what the answered command then shows."""


async def _accepted(entry: dict[str, Json]) -> Json:
    """The answer to a submit. As a coroutine it is sent behind the first frames of the command."""
    return {"ok": True, "entry": entry}
