"""Drives a server with what a recording sent, and holds its answers against the recorded ones."""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.processes import PATIENCE_S

type Json = Any

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
VARIABLE = re.compile(rf"{UUID.pattern}|(?<=open ').*")
"""In an error text: ids, and paths of the recorded machine."""
OPAQUE = frozenset({"metrics", "options", "errorDetails", "tokenUsage", "actionTokenUsage"})
"""Values whose inner form is no part of the comparison."""
UNCOMPARED_RESULTS = frozenset({"getAgentSchemas"})
"""Methods whose result is about the agents of the recorded server."""


@dataclass(slots=True)
class Line:
    """One connection's side of a replay."""

    socket: ClientConnection
    reader: asyncio.Task[None] | None = None
    received: list[Json] = field(default_factory=list)
    expected: list[Json] = field(default_factory=list)
    """Recorded frames; `None` for one that the recording has only the size of."""
    compared: int = 0
    methods: dict[tuple[str, int], str] = field(default_factory=dict)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)


def read_recording(path: Path, until: str = "") -> list[dict[str, Json]]:
    """The lines of a recording in order, up to the first that holds the text `until`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    entries = []
    for line in lines:
        if until and until in line:
            break
        entries.append(json.loads(line))
    return entries


def shape(value: Json, key: str = "") -> Json:
    """The form of a value: its keys and types, and of a list the forms that occur in it."""
    if key in OPAQUE:
        return "opaque"
    if isinstance(value, dict):
        return tuple(sorted((k, shape(v, k)) for k, v in value.items()))
    if isinstance(value, list):
        return tuple(sorted({repr(shape(v)) for v in value}))
    if isinstance(value, bool) or value is None:
        return "bool" if value is not None else "null"
    return "number" if isinstance(value, (int, float)) else "text"


def summary(frame: dict[str, Json]) -> Json:
    """What is compared of a frame: channel kind, message type, name, and the form of the rest."""
    message = frame["message"]
    args = message.get("args")
    return (
        frame["name"].split(":")[0],
        message["type"],
        message.get("name"),
        tuple(shape(a) for a in args) if args is not None else shape(message.get("result")),
        VARIABLE.sub("…", message.get("error", "")),
    )


def is_snapshot(frame: dict[str, Json]) -> bool:
    """`queueStateChanged` comes 100 ms after a change, wherever that falls."""
    return bool(frame["message"].get("name") == "queueStateChanged")


class Replay:
    """One run of a recording against a server.

    `by_request` is for recordings in which several commands are under way at once: there only the
    order within a request, and that every call is answered alike, is the server's to decide.
    `before_open` is called before each new connection, where a recording has waited for something.
    """

    def __init__(
        self,
        url: str,
        entries: list[dict[str, Json]],
        *,
        by_request: bool = False,
        before_open: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._url = url
        self._entries = entries
        self._by_request = by_request
        self._before_open = before_open
        self._lines: dict[str, Line] = {}
        self._ids: dict[str, str] = {}
        self._differences: list[str] = []

    async def run(self) -> list[str]:
        """Play it all; gives what differed first, on each connection."""
        try:
            for entry in self._entries:
                await self._play(entry)
                if self._differences:
                    return self._differences
            await self._settle()
        finally:
            for name in list(self._lines):
                await self._close(name, abrupt=False)
        return self._differences

    async def _play(self, entry: dict[str, Json]) -> None:
        name = entry.get("conn", "-")
        if entry["dir"] == "in":
            frame = entry.get("frame")
            if frame is None or not is_snapshot(frame):
                self._lines[name].expected.append(frame)
            return
        await self._settle()
        match entry["dir"], entry.get("event"):
            case "event", "open":
                if self._before_open is not None:
                    await self._before_open()
                await self._open(name)
            case "event", ("close" | "abrupt-drop"):
                if entry.get("code") == 1006 and name in self._lines:
                    await self._lines[name].socket.wait_closed()
                await self._close(name, abrupt=entry["event"] == "abrupt-drop")
            case "out", _:
                await self._send(self._lines[name], entry)

    async def _open(self, name: str) -> None:
        line = Line(await connect(self._url, proxy=None, compression=None, max_size=None))
        line.reader = asyncio.create_task(_read(line))
        self._lines[name] = line

    async def _close(self, name: str, *, abrupt: bool) -> None:
        line = self._lines.pop(name, None)
        if line is None or line.reader is None:
            return
        if self._by_request:
            self._compare_by_request(name, line)
        if abrupt:
            line.socket.transport.abort()
        await line.socket.close()
        await line.reader

    async def _send(self, line: Line, entry: dict[str, Json]) -> None:
        raw = entry.get("raw")
        if raw is None:
            message = entry["frame"]["message"]
            if message["type"] == "invoke":
                line.methods[entry["frame"]["name"], message["callId"]] = message["name"]
            raw = json.dumps(entry["frame"])
        data: str | bytes = UUID.sub(lambda m: self._ids.get(m[0], m[0]), raw)
        if entry.get("note") == "binary":
            data = str(data)[2:-1].encode()
        await line.socket.send(data)

    async def _settle(self) -> None:
        """Wait until every connection has got as many frames as were recorded so far."""
        for name, line in self._lines.items():
            try:
                async with asyncio.timeout(PATIENCE_S):
                    while len(line.received) < len(line.expected):
                        line.arrived.clear()
                        await line.arrived.wait()
            except TimeoutError:
                got = [summary(f)[:3] for f in line.received[-3:]]
                self._differences.append(f"{name}: missing a frame after {got}")
            self._compare(name, line)

    def _compare(self, name: str, line: Line) -> None:
        start = line.compared
        for real, recorded in zip(line.received[start:], line.expected[start:], strict=False):
            line.compared += 1
            if recorded is None:
                continue
            self._learn(recorded, real)
            if self._by_request or self._is_uncompared(line, recorded):
                continue
            if summary(real) != summary(recorded):
                self._differences.append(
                    f"{name} #{line.compared - 1}:"
                    f"\n  got      {summary(real)}\n  recorded {summary(recorded)}"
                )
                return

    def _compare_by_request(self, name: str, line: Line) -> None:
        got, recorded = _groups(line.received), _groups([f for f in line.expected if f])
        for key in recorded:
            if got[key] != recorded[key]:
                self._differences.append(
                    f"{name} {key}:\n  got      {got[key]}\n  recorded {recorded[key]}"
                )

    def _is_uncompared(self, line: Line, recorded: dict[str, Json]) -> bool:
        key = recorded["name"], recorded["message"].get("callId")
        is_answer = recorded["message"]["type"] == "invokeResult"
        return is_answer and line.methods.get(key) in UNCOMPARED_RESULTS

    def _learn(self, recorded: Json, real: Json) -> None:
        """Which of our ids stands where the recording has one."""
        if isinstance(recorded, dict) and isinstance(real, dict):
            for key in recorded.keys() & real.keys():
                self._learn(recorded[key], real[key])
        elif isinstance(recorded, list) and isinstance(real, list):
            for one, other in zip(recorded, real, strict=False):
                self._learn(one, other)
        elif isinstance(recorded, str) and isinstance(real, str):
            for one, other in zip(UUID.findall(recorded), UUID.findall(real), strict=False):
                self._ids.setdefault(one, other)


def _groups(frames: list[Json]) -> defaultdict[str, list[Json]]:
    """Answers by call id, pushes by the client's id of their request."""
    groups: defaultdict[str, list[Json]] = defaultdict(list)
    for frame in frames:
        message = frame["message"]
        if message["type"] == "call":
            first = message["args"][0]
            about = first.get("requestId") if isinstance(first, dict) else None
            holder = about if isinstance(about, dict) else first
            client_id = holder.get("clientRequestId") if isinstance(holder, dict) else None
            key = f"request {client_id}"
            groups[key].append(summary(frame))
        else:  # whether it was still queued when answered is a matter of microseconds
            groups[f"answer {message.get('callId')}"].append(summary(frame)[:3])
    return groups


async def _read(line: Line) -> None:
    try:
        async for data in line.socket:
            frame = json.loads(data)
            if not is_snapshot(frame):
                line.received.append(frame)
                line.arrived.set()
    except ConnectionClosed:
        pass
