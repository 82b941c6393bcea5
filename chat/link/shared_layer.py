"""The channel layer of a site of several processes: memory within each, Redis between them."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import structlog
from channels.exceptions import ChannelFull
from channels_redis.pubsub import RedisPubSubChannelLayer

from chat.link.layer import MemoryLayer
from chat.link.metrics import LOST_PUSHES
from chat.link.tasks import cancelled, spawn

QUEUE_MAX = 1000  # messages that wait for Redis
STALE_S = 2.0  # what waited for longer is dropped: who lacks it has asked by then
AGAIN_S = 0.5
ECHO_EVERY_S = 1.0
ECHO_WITHIN_S = 2.0
NODES = "node."  # begins the groups that are the processes themselves
NOT_FOR_US = "-"  # a sender that hears nothing

log = structlog.get_logger(__name__)
# It would tell of every try, with a traceback; here it is told once (`Wire`).
logging.getLogger("channels_redis.pubsub").setLevel(logging.CRITICAL)

type Message = dict[str, Any]


class SharedLayer:
    """Within a process nothing waits for Redis, and nothing is lost with it: a message for a
    channel or a group goes to the members here at once, and to Redis for the others.

    Between processes any message may be lost, and late; none comes twice. As every channel layer
    it belongs to the loop in which it listens; from other loops (management commands, tests) it
    only sends.
    """

    extensions = ("groups", "flush")

    def __init__(self, **config: Any) -> None:
        self._far = RedisPubSubChannelLayer(**config)
        self._wire: Wire | None = None
        self.here = self.make_local()

    def make_local(self) -> MemoryLayer:
        """What delivers within the process."""
        return MemoryLayer()

    @property
    def broken(self) -> bool:
        """Whether Redis brings nothing at this time."""
        return self._wire is not None and self._wire.broken

    async def new_channel(self, prefix: str = "page") -> str:
        """A name that other processes can send to: it tells where it is."""
        return f"{prefix}.{self._listening().node}!{uuid4().hex[:12]}"

    async def receive(self, channel: str) -> Message:
        self._listening()
        message: Message = await self.here.receive(channel)
        return message

    async def send(self, channel: str, message: Message) -> None:
        """Raises `ChannelFull` if the channel is of this process, and nobody reads it."""
        wire = self._own_wire()
        node = channel.partition("!")[0].rpartition(".")[2]
        if wire is not None and node == wire.node:
            await self.here.send(channel, message)
        else:
            await self._away(wire, NODES + node, {"channel": channel, "message": message})

    async def group_add(self, group: str, channel: str) -> None:
        wire = self._listening()
        await self.here.group_add(group, channel)
        if len(self.here.groups[group]) == 1:
            wire.attend(group)

    async def group_discard(self, group: str, channel: str) -> None:
        wire = self._listening()
        await self.here.group_discard(group, channel)
        if group not in self.here.groups:
            wire.attend(group)

    async def group_send(self, group: str, message: Message) -> None:
        wire = self._own_wire()
        if wire is not None:
            await self.here.group_send(group, message)
        await self._away(wire, group, {"group": group, "message": message})

    async def flush(self) -> None:
        """As new; what listens ends."""
        wire, self._wire = self._wire, None
        if wire is not None:
            await wire.close()
        await self.here.flush()
        await self._far.flush()

    def _own_wire(self) -> Wire | None:
        wire = self._wire
        return wire if wire is not None and wire.loop is asyncio.get_running_loop() else None

    def _listening(self) -> Wire:
        if self._wire is None or self._wire.loop.is_closed():
            self.here = self.make_local()
            self._wire = Wire(self._far, self.here)
        return self._wire

    async def _away(self, wire: Wire | None, group: str, content: Message) -> None:
        if wire is not None:
            wire.post(group, content)
            return
        try:
            await self._far.group_send(group, {"from": NOT_FOR_US, **content})
        except Exception as error:
            LOST_PUSHES.inc()
            log.warning("not sent", error=type(error).__name__)


@dataclass(frozen=True, slots=True)
class Errand:
    """A message for Redis, or, without one, a group to be heard or left."""

    at: float
    group: str
    content: Message | None = None


class Wire:
    """What one process has with Redis: it hears the groups that have members here, and sends in
    the order in which it was asked to. `broken` is found out by messages to itself.
    """

    def __init__(self, far: RedisPubSubChannelLayer, here: MemoryLayer) -> None:
        self.loop = asyncio.get_running_loop()
        self.node = uuid4().hex
        self.broken = False
        self._far = far
        self._here = here
        self._errands: asyncio.Queue[Errand] = asyncio.Queue()
        self._unattended: set[str] = set()
        self._echoed = asyncio.Event()
        self._hearing = self._hear_anew()
        self._others = [
            spawn(self._send(), name="layer sends"),
            spawn(self._echo(), name="layer listens to itself"),
        ]

    async def close(self) -> None:
        for task in self._others:
            await cancelled(task)
        await self._far.flush()  # first, or to leave would be tried, and fail loudly
        await cancelled(self._hearing)

    def attend(self, group: str) -> None:
        """Hear a group from now on, or leave it: as its members are when that is done."""
        if group not in self._unattended:
            self._unattended.add(group)
            self._errands.put_nowait(Errand(self.loop.time(), group))

    def post(self, group: str, content: Message) -> None:
        """To the members of a group in other processes. Never waits."""
        if self._errands.qsize() < QUEUE_MAX:
            self._errands.put_nowait(Errand(self.loop.time(), group, content))
        else:
            LOST_PUSHES.inc()

    def _hear_anew(self) -> asyncio.Task[None]:
        # Redis' layer lets only a channel that is read join groups: it is, before any joins.
        hearing = spawn(self._hear(), name="layer hears")
        for group in (NODES + self.node, *self._here.groups):
            self.attend(group)
        return hearing

    async def _send(self) -> None:
        while True:
            errand = await self._errands.get()
            try:
                await self._run(errand)
            except Exception as error:
                self._tell(type(error).__name__)
                if errand.content is None:
                    self.loop.call_later(AGAIN_S, self._errands.put_nowait, errand)
                else:
                    LOST_PUSHES.inc()

    async def _run(self, errand: Errand) -> None:
        if errand.content is None:
            wanted = errand.group == NODES + self.node or errand.group in self._here.groups
            change = self._far.group_add if wanted else self._far.group_discard
            hearing = self._hearing
            await change(errand.group, self.node)
            self._unattended.discard(errand.group)
            if hearing is not self._hearing:  # made anew meanwhile, perhaps without this
                self.attend(errand.group)
        elif self.loop.time() - errand.at > STALE_S:
            LOST_PUSHES.inc()
        else:
            await self._far.group_send(errand.group, {"from": self.node, **errand.content})

    async def _hear(self) -> None:
        while True:
            try:
                await self._take(await self._far.receive(self.node))
            except ChannelFull:
                LOST_PUSHES.inc()
            except Exception as error:
                self._tell(type(error).__name__)
                await asyncio.sleep(AGAIN_S)

    async def _take(self, message: Message) -> None:
        if "echo" in message:
            self._echoed.set()
        elif message["from"] == self.node:
            return
        elif "channel" in message:
            await self._here.send(message["channel"], message["message"])
        else:
            await self._here.group_send(message["group"], message["message"])

    async def _echo(self) -> None:
        """The only way to know that both directions work. Where one does not, all connections
        are made anew: one that is half open would not end by itself.
        """
        while True:
            self._echoed.clear()
            self.post(NODES + self.node, {"echo": True})
            try:
                async with asyncio.timeout(ECHO_WITHIN_S):
                    await self._echoed.wait()
            except TimeoutError:
                self._tell("no echo")
                await self._far.flush()
                await cancelled(self._hearing)
                self._hearing = self._hear_anew()
            else:
                self._tell("")
                await asyncio.sleep(ECHO_EVERY_S)

    def _tell(self, error: str) -> None:
        if error and not self.broken:
            log.warning("Redis does not answer", error=error)
        elif self.broken and not error:
            log.info("Redis answers again")
        self.broken = bool(error)
