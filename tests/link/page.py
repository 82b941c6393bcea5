"""An open page without a browser: attaches as the consumer does, and applies what it is sent as
htmx does, so that a test can ask what a reader would see.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from channels.layers import get_channel_layer

from chat.link.hub import Hub
from chat.link.publisher import group_name
from tests.link.wait import until

VOID = {"br", "hr", "img", "input"}
ATTACH_AGAIN_S = 0.2


@dataclass
class Node:
    tag: str
    attrs: dict[str, str]
    parts: list[Node | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    def find(self, **wanted: str) -> list[Node]:
        found = []
        for part in self.parts:
            if isinstance(part, Node):
                matches = all(value in part.attrs.get(name, "") for name, value in wanted.items())
                found += ([part] if matches else []) + part.find(**wanted)
        return found


class Tree(HTMLParser):
    """The top-level elements of a push."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.top = Node("", {})
        self._open = [self.top]
        self.feed(html)
        self.close()
        assert len(self._open) == 1, "an element was left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].parts.append(node)
        if tag not in VOID:
            self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].parts.append(data)


@dataclass
class Shown:
    """A bubble as the reader sees it."""

    order: str
    role: str
    state: str
    request: str
    foot: str
    by: str
    retry: bool
    blocks: dict[str, str]

    @property
    def text(self) -> str:
        return "".join(self.blocks[key] for key in sorted(self.blocks)).strip("\n")


class Page:
    """Use `open`, then read `bubbles`, `text(...)` and the rest; `close` at the end."""

    def __init__(self, hub: Hub, conversation_id: int) -> None:
        self.hub = hub
        self.conversation_id = conversation_id
        self.bubbles: dict[str, Shown] = {}
        self.revision = 0
        self.running = False
        self.connection = ""
        self.connection_text = ""
        self.spoken: list[str] = []
        self.seen: defaultdict[str, list[str]] = defaultdict(list)
        self.pushes: list[dict[str, Any]] = []
        self.syncs = 0
        self.closed = False
        self.deaf = False
        """Lose every push from now on, as a layer may."""
        self._epoch: int | None = None
        self._number = 0
        self._held: list[dict[str, Any]] | None = []
        self._attaching: asyncio.Task[None] | None = None

    async def open(self) -> Page:
        """Attach and wait for the answer."""
        self._channel = await get_channel_layer().new_channel("page")
        await get_channel_layer().group_add(group_name(self.conversation_id), self._channel)
        self.hub.page_opened(self.conversation_id, self)
        self._listening = asyncio.create_task(self._listen())
        self.reattach()
        try:
            await until(lambda: self.syncs > 0, "the page is attached")
        except AssertionError:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Idempotent. Raises what was wrong with a push, if anything was."""
        if self.closed:
            return
        self.closed = True
        await self.hub.page_closed(self.conversation_id, self)
        await get_channel_layer().group_discard(group_name(self.conversation_id), self._channel)
        failure = self._listening.exception() if self._listening.done() else None
        for task in (self._listening, self._attaching):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if failure is not None:
            raise failure

    def reattach(self) -> None:
        self._held = []
        if self._attaching is None or self._attaching.done():
            self._attaching = asyncio.create_task(self._attach())

    @property
    def order(self) -> list[Shown]:
        return sorted(self.bubbles.values(), key=lambda bubble: bubble.order)

    @property
    def texts(self) -> list[str]:
        """All that stands on the page, from the top."""
        return [bubble.text for bubble in self.order]

    def answers(self, request_id: str) -> list[Shown]:
        return [bubble for bubble in self.of(request_id) if bubble.role == "agent"]

    def text(self, request_id: str) -> str:
        """What is shown in answer."""
        return "\n".join(bubble.text for bubble in self.answers(request_id))

    def state(self, request_id: str) -> str:
        """Of the question; empty while it is not there."""
        return next((b.state for b in self.of(request_id) if b.role == "user"), "")

    def answer_state(self, request_id: str) -> str:
        """Of the first bubble of the answer; empty while it is not there."""
        return next((b.state for b in self.answers(request_id)), "")

    def shows(self, request_id: str, answer: str) -> bool:
        return self.text(request_id) == answer

    def is_at_rest(self, request_id: str) -> bool:
        """Whether the request is over, as far as this page knows."""
        states = {bubble.state for bubble in self.of(request_id)}
        return bool(states) and not states & {"pending", "queued", "streaming"} and not self.running

    def of(self, request_id: str) -> list[Shown]:
        return [bubble for bubble in self.order if bubble.request == request_id]

    async def _attach(self) -> None:
        while True:
            await self.hub.attach(self.conversation_id, self._channel, self.revision)
            await asyncio.sleep(ATTACH_AGAIN_S)

    async def _listen(self) -> None:
        while True:
            message = await get_channel_layer().receive(self._channel)
            match message["type"]:
                case "page.push" if not self.deaf:
                    self._push(message)
                case "page.synced":
                    self._synced(message)
                case "page.orphaned":
                    self.reattach()

    def _push(self, message: dict[str, Any]) -> None:
        self.pushes.append(message)
        if self._held is not None:
            self._held.append(message)
            return
        same = message["epoch"] == self._epoch
        if same and message["number"] <= self._number:
            return
        if same and message["number"] == self._number + 1:
            self._number += 1
            self._take(message)
        else:
            self.reattach()
            self._push(message)

    def _synced(self, message: dict[str, Any]) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        if self._attaching is not None:
            self._attaching.cancel()
        self._epoch, self._number = message["epoch"], message["number"]
        self._take(message)
        self.syncs += 1
        for push in held:
            self._push(push)

    def _take(self, message: dict[str, Any]) -> None:
        self.revision = max(self.revision, message["revision"])
        self.apply(message["html"])

    def apply(self, html: str) -> None:
        """Swap the fragments in."""
        for node in Tree(html).top.parts:
            if isinstance(node, Node):
                self._swap(node)
            else:
                assert not node.strip()
        for request_id in {bubble.request for bubble in self.bubbles.values()}:
            text = self.text(request_id)
            if text != (self.seen[request_id] or [""])[-1]:
                self.seen[request_id].append(text)

    def _swap(self, node: Node) -> None:
        how, attrs = node.attrs.get("hx-swap-oob", ""), node.attrs
        if node.tag == "article":
            assert how == "upsert:#transcript"
            self.bubbles[attrs["data-message"]] = _shown(node)
        elif "block" in attrs.get("class", "").split():
            uid = how.removeprefix("upsert:#b-")
            assert uid in self.bubbles, "a block came before its bubble"
            self.bubbles[uid].blocks[attrs["data-order"]] = node.text
        elif how == "delete":
            self.bubbles.pop(attrs["id"].removeprefix("m-"), None)
        elif how.startswith("manifest"):
            self._keep(attrs)
        else:
            self._note(node)

    def _keep(self, attrs: dict[str, str]) -> None:
        named, first = attrs["data-uids"].split(), attrs["data-first-order"]
        for uid, bubble in list(self.bubbles.items()):
            older = bubble.order < first and attrs["data-reset"] != "1"
            if uid not in named and not older:
                del self.bubbles[uid]

    def _note(self, node: Node) -> None:
        match node.attrs["id"]:
            case "revision":
                self.revision = max(self.revision, int(node.attrs["data-revision"]))
            case "running":
                self.running = node.attrs["data-running"] == "1"
            case "connection":
                self.connection = node.attrs["data-state"]
                self.connection_text = node.text.strip()
            case "announce":
                self.spoken += [part.text for part in node.parts if isinstance(part, Node)]
            case other:
                raise AssertionError(f"an unknown fragment: {other}")


def _shown(node: Node) -> Shown:
    attrs = node.attrs
    body = node.find(id="b-")[0]
    blocks = [part for part in body.parts if isinstance(part, Node)]
    return Shown(
        order=attrs["data-order"],
        role=attrs["data-role"],
        state=attrs["data-state"],
        request=attrs["data-request"],
        foot=" ".join(" ".join(foot.text for foot in node.find(**{"class": "foot"})).split()),
        by=" ".join(" ".join(by.text for by in node.find(**{"class": "by"})).split()),
        retry=bool(node.find(name="request")),
        blocks={block.attrs["data-order"]: block.text for block in blocks},
    )
