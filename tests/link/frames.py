"""What an agent-server sends of a request, as the wire has it."""

from __future__ import annotations

from chat.agentserver.events import Json
from tests.agentserver.scripted import ScriptedServer


def ref(request_id: str) -> dict[str, Json]:
    return {"connectionId": "0", "requestId": request_id}


def entry(request_id: str, text: str = "q", state: str = "running") -> dict[str, Json]:
    return {"requestId": request_id, "text": text, "state": state, "submittedAt": 1_700_000_000_000}


def message(request_id: str, content: Json, **extra: Json) -> dict[str, Json]:
    return {"message": content, "requestId": ref(request_id), "source": "test", **extra}


def log_of(request_id: str, text: str, *said: Json, done: bool = True) -> list[dict[str, Json]]:
    """The log entries of a request; they are numbered by `numbered`."""
    entries: list[dict[str, Json]] = [
        {"type": "user-request", "requestId": ref(request_id), "command": text}
    ]
    entries += [
        {"type": "append-display", "message": message(request_id, content), "mode": "inline"}
        for content in said
    ]
    if done:
        entries.append({"type": "command-result", "requestId": ref(request_id), "metrics": {}})
    return entries


def numbered(
    entries: list[dict[str, Json]], first: int = 0, at: int = 1_900_000_000_000
) -> list[dict[str, Json]]:
    return [{**e, "seq": seq, "timestamp": at + seq} for seq, e in enumerate(entries, first)]


class Sends:
    """Pushes the frames of requests to the newest connection of a scripted server."""

    def __init__(self, server: ScriptedServer, conversation: str = "c1") -> None:
        self._server = server
        self._conversation = conversation

    async def call(self, name: str, *args: Json) -> None:
        await self._server.push(name, *args, conversation=self._conversation)

    async def started(self, request_id: str, text: str = "q") -> None:
        await self.call("requestQueued", entry(request_id, text, "queued"), 1)
        await self.call("requestStarted", entry(request_id, text), 2)
        await self.call("setUserRequest", ref(request_id), text)

    async def append(
        self, request_id: str, content: Json, mode: str = "inline", **extra: Json
    ) -> None:
        await self.call("appendDisplay", message(request_id, content, **extra), mode)

    async def complete(self, request_id: str, **result: Json) -> None:
        data = {"result": {"metrics": {}, **result}}
        await self.call("notify", ref(request_id), "commandComplete", data, "system", None, None)
