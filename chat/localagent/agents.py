"""Agents that a client hosts in one conversation: registration and their channel (WIRE.md 9)."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING

from .connection import Channel, Connection, RemoteError
from .context import ICONS, CommandContext
from .prompts import Question
from .schema import Schema, parse_schema
from .storage import AgentStorage
from .wire import Args, Json, WireError, args_json

if TYPE_CHECKING:
    from .conversation import Conversation

BUILT_IN = ("dispatcher", "system", "chat", "demo", "test", "list")
"""Names that no client agent can take; `list` because the recordings have it."""
STATUS_FLAGS = {"lastUsed": False, "priority": False, "request": False, "active": True}
OPENING = ("initializeAgentContext", "startBackgroundTasks", "checkReadiness", "updateAgentContext")
CLOSING = ("stopBackgroundTasks", "updateAgentContext", "closeAgentContext")


class ClientAgent:
    """One registered agent and the socket that hosts it."""

    def __init__(
        self, connection: Connection, name: str, manifest: dict[str, Json], interface: list[Json]
    ) -> None:
        self.connection = connection
        self.name = name
        self.manifest = manifest
        self.interface = interface
        self.channel = f"agent:{name}"
        self.storage = AgentStorage()
        self._session = str(uuid.uuid4())
        self._next_action = 0
        self._running: dict[int, CommandContext] = {}

    @property
    def session_context(self) -> dict[str, Json]:
        """What every invoke of it carries."""
        return {
            "contextId": 0,
            "hasInstanceStorage": True,
            "hasSessionStorage": True,
            "sessionContextId": self._session,
        }

    @property
    def icon(self) -> str:
        """Its emoji."""
        return str(self.manifest.get("emojiChar", ""))

    @property
    def about(self) -> dict[str, Json]:
        """The fields of a display that say that it comes from an action of this agent."""
        return {"source": self.name, "sourceIcon": self.icon, "actionIndex": 0}

    @property
    def enabled(self) -> bool:
        """Whether its actions may run."""
        return self.manifest.get("actionDefaultEnabled") is not False

    def schema(self) -> Schema:
        """Its parsed schema. Raises WireError for a broken one, which registering did not."""
        return parse_schema(self.name, self.manifest.get("schema"))

    async def open(self) -> None:
        """Tell it that it begins, one awaited step after the other."""
        await self._steps(OPENING, enable=True)

    async def close(self) -> None:
        """Tell it that it ends."""
        await self._steps(CLOSING, enable=False)

    async def execute(self, context: CommandContext, action: dict[str, Json]) -> Json:
        """Run an action. Raises Aborted, and RemoteError or WireError where it fails."""
        self._need("executeAction")
        number = self._next_action
        self._next_action += 1
        self._running[number] = context
        args = {"actionContextId": number, "isFromReasoningLoop": False, **self.session_context}
        answer = self.connection.invoke(self.channel, "executeAction", [{**args, "action": action}])
        cancelled = args_json([{"actionContextId": number}])
        try:
            return await context.until(
                answer, lambda: self.connection.call(self.channel, "cancelAction", cancelled)
            )
        finally:
            del self._running[number]

    def need_choices(self) -> None:
        """Raises WireError for an agent that cannot take the answer to a choice."""
        if "handleChoice" not in self.interface:
            raise WireError(f"Agent '{self.name}' does not support choices")

    async def handle_choice(self, choice_id: str, response: Json) -> Json:
        """Hand it the answer to a choice of its own. Raises RemoteError where it fails."""
        args = {**self.session_context, "choiceId": choice_id, "response": response}
        return await self.connection.invoke(self.channel, "handleChoice", [args])

    def running(self, args: Args) -> CommandContext:
        """The request of a call from the agent. Raises WireError once it has ended."""
        given = args[0] if isinstance(args[0], dict) else {}
        number = given.get("actionContextId")
        context = self._running.get(number) if isinstance(number, int) else None
        if context is None:
            raise WireError(f"Internal error: Invalid actionContextId {number}")
        return context

    def check_context(self, args: Args) -> dict[str, Json]:
        """The argument of an invoke from the agent. Raises WireError for a foreign context."""
        given = args[0] if isinstance(args[0], dict) else {}
        if given.get("contextId") != 0:
            raise WireError(f"Internal error: Invalid contextId {given.get('contextId')}")
        return given

    def _need(self, method: str) -> None:
        if method not in self.interface:
            text = f"Agent '{self.name}' does not support {method}."
            raise RemoteError({"error": text})

    async def _steps(self, steps: tuple[str, ...], *, enable: bool) -> None:
        for step in steps:
            if step not in self.interface:
                continue
            args: dict[str, Json] = {} if step == "initializeAgentContext" else self.session_context
            if step == "updateAgentContext":
                args |= {"enable": enable, "schemaName": self.name}
            await self.connection.invoke(self.channel, step, [args])


class AgentHost:
    """The client agents of one conversation by name."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._agents: dict[str, ClientAgent] = {}

    def icon(self, name: str) -> str:
        """The emoji of a client agent; empty for any other name."""
        agent = self._agents.get(name)
        return agent.icon if agent else ""

    def get(self, name: str) -> ClientAgent:
        """The agent of that name. Raises WireError."""
        agent = self._agents.get(name)
        if agent is None:
            raise WireError(f"Invalid schema name {name}")
        return agent

    async def add(self, agent: ClientAgent) -> None:
        """Register it. Raises WireError for a name that is taken, here or on its socket."""
        if agent.name in BUILT_IN or agent.name in self._agents:
            raise WireError(f"App agent '{agent.name}' already exists")
        if agent.channel in agent.connection.channels:
            raise WireError(f"Channel '{agent.channel}' already exists")
        agent.connection.open_channel(agent.channel, self._channel(agent))
        self._agents[agent.name] = agent
        await agent.open()

    async def remove(self, name: Json) -> ClientAgent | None:
        """Unregister whoever has the name; its owner is told only what its interface asks for."""
        agent = self._agents.pop(name, None) if isinstance(name, str) else None
        if agent is not None:
            await agent.close()
        return agent

    def lost(self, connection: Connection) -> None:
        """The socket is gone, and every agent on it."""
        for agent in [a for a in self._agents.values() if a.connection is connection]:
            del self._agents[agent.name]

    def status(self) -> dict[str, Json]:
        """`getStatus`."""
        icons = ICONS | {name: self.icon(name) for name in self._agents}
        agents = [{"emoji": icon, "name": name, **STATUS_FLAGS} for name, icon in icons.items()]
        return {"agents": agents, "details": " (built-in responder)"}

    def schemas(self, name: Json) -> list[dict[str, Json]]:
        """`getAgentSchemas`: of all or one; an agent with a broken schema is not in it."""
        wanted = [a for a in self._agents.values() if not isinstance(name, str) or a.name == name]
        described = []
        for agent in wanted:
            try:
                described.append(_described(agent, agent.schema()))
            except WireError:
                continue
        return described

    def _channel(self, agent: ClientAgent) -> Channel:
        def set_display(args: Args) -> None:
            content = args[0].get("content") if isinstance(args[0], dict) else None
            agent.running(args).replace(content, **agent.about)

        def append_display(args: Args) -> None:
            context = agent.running(args)
            content, mode = args[0].get("content"), args[0].get("mode") or "inline"
            context.show(content, str(mode), **agent.about)

        def take_action(args: Args) -> None:
            context = agent.running(args)
            context.only_me("takeAction", args[0].get("action"), args[0].get("data"))

        def notify(args: Args) -> None:
            event, text = args.or_none(1), args.or_none(2)
            self._conversation.display.notify(args.or_none(3), event, text, agent.name)

        return Channel(
            invokes={
                "popupQuestion": lambda args: self._popup(agent, args),
                "storageWrite": lambda args: agent.storage.write(agent.check_context(args)),
                "storageRead": lambda args: agent.storage.read(agent.check_context(args)),
                "storageList": lambda args: agent.storage.list(agent.check_context(args)),
            },
            calls={
                "setDisplay": set_display,
                "appendDisplay": append_display,
                "takeAction": take_action,
                "notify": notify,
            },
        )

    async def _popup(self, agent: ClientAgent, args: Args) -> Json:
        given = agent.check_context(args)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        labels, default = given.get("choices"), given.get("defaultId")
        question = Question(
            str(given.get("message", "")),
            labels if isinstance(labels, list) else ["Yes", "No"],
            agent.name,
            answer,
            default if isinstance(default, int) else None,
        )
        return await self._conversation.prompts.ask(question)


def _described(agent: ClientAgent, schema: Schema) -> dict[str, Json]:
    description = agent.manifest.get("description", "")
    actions = [{"name": a.name, "description": a.description} for a in schema.actions.values()]
    sub_schema = {
        "schemaName": agent.name,
        "description": description,
        "schemaText": schema.text,
        "actions": actions,
    }
    return {
        "name": agent.name,
        "emoji": agent.icon,
        "description": description,
        "subSchemas": [sub_schema],
    }
