"""What a reader sees of a conversation, from the pushes alone: applied as htmx does it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "hr", "img", "input"}


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


class View:
    """Feed it with `apply`, then read `bubbles`, `text(...)` and the rest."""

    def __init__(self) -> None:
        self.bubbles: dict[str, Shown] = {}
        self.revision = 0
        self.running = False
        self.connection = ""
        self.connection_text = ""
        self.spoken: list[str] = []
        self.seen: defaultdict[str, list[str]] = defaultdict(list)

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
