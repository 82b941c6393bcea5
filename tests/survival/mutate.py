"""Frames that no agent-server ever sent, made of those that one did."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from tests.shared import wire_files

type Json = Any

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
MAX_CHARS = 20_000
"""Of a recorded frame: the few that are larger would be most of the traffic."""

HUGE = (10**30, -(10**30), 2**53, -1, 1e308, 0.5, 253_402_300_800_000)
DEEP = 100_000
"""Brackets: more than any parser follows."""

SHALLOW = 300
"""Brackets that a parser does follow, and whoever walks over the value must too."""

WRONG: tuple[Json, ...] = (None, True, False, 0, "", "x", [], {}, [[]], {"": None}, ["a", 1, {}])


@cache
def recorded() -> list[str]:
    """Every frame that a real agent-server sent, as text."""
    frames = []
    for path in wire_files():
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            frame = entry.get("frame")
            if entry["dir"] == "in" and isinstance(frame, dict):
                text = json.dumps(frame)
                frames += [text] if len(text) <= MAX_CHARS else []
    return frames


def aimed(rng: random.Random, text: str, conversation: str, ids: list[str]) -> str:
    """The frame with the id of a conversation that is joined, and now and then of what runs."""
    channel = re.search(r'"name": ?"[a-z]+:([^"]*)"', text)
    if channel is not None and channel[1]:
        text = text.replace(channel[1], conversation)
    chosen = {name: rng.choice(ids) for name in UUID.findall(text) if rng.random() < 0.5}
    chosen.pop(conversation, None)
    return UUID.sub(lambda found: chosen.get(found[0], found[0]), text)


def call(conversation: str, name: str, *args: Json) -> str:
    """What the agent-server says to the clients of a conversation."""
    message = {"type": "call", "callId": 0, "name": name, "args": list(args)}
    return json.dumps({"name": f"clientio:{conversation}", "message": message})


def mutated(rng: random.Random, text: str) -> str | bytes:
    """The frame with one to three faults."""
    data: str | bytes = text
    for _ in range(rng.randint(1, 3)):
        if isinstance(data, bytes):
            break
        data = rng.choice(FAULTS)(rng, data)
    return data


def _flip_bits(rng: random.Random, text: str) -> bytes:
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _truncate(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text))] or " "


def _repeat_key(rng: random.Random, text: str) -> str:
    """JSON may name a key twice; the last one counts."""
    keys = list(re.finditer(r'"(\w+)": ?', text))
    if not keys:
        return text
    key = rng.choice(keys)
    return f"{text[: key.start()]}{key[0]}{json.dumps(rng.choice(WRONG))}, {text[key.start() :]}"


def _of_a_place(change: Callable[[random.Random, Json, Json], None]) -> Callable[..., str]:
    def fault(rng: random.Random, text: str) -> str:
        try:
            frame = json.loads(text)
        except (ValueError, RecursionError):
            return text
        places = list(_places(frame))
        if places:
            change(rng, *rng.choice(places))
        return json.dumps(frame)

    return fault


def _delete(_rng: random.Random, holder: Json, key: Json) -> None:
    del holder[key]


def _wrong(rng: random.Random, holder: Json, key: Json) -> None:
    holder[key] = rng.choice((*WRONG, *HUGE))


def _surrogate(rng: random.Random, holder: Json, key: Json) -> None:
    odd = rng.choice(("\ud83d", "\udc00x", "\x00", "a\x00b", "\u2028", "\x1b[31m", "\uffff"))
    holder[key] = f"{holder[key]}{odd}" if isinstance(holder[key], str) else odd


def _shallow(rng: random.Random, holder: Json, key: Json) -> None:
    value: Json = holder[key]
    for _ in range(SHALLOW):
        value = [value] if rng.random() < 0.5 else {"content": value}
    holder[key] = value


def _deep(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text))
    return text[:at] + "[" * DEEP + text[at:]


def _huge_number(rng: random.Random, text: str) -> str:
    numbers = list(re.finditer(r"(?<=: )\d+", text))
    if not numbers:
        return text
    number = rng.choice(numbers)
    huge = rng.choice(("1e999", "-1e999", "9" * 400, "9" * 5_000, "NaN", "Infinity", "1e-400"))
    return text[: number.start()] + huge + text[number.end() :]


def _places(value: Json) -> list[tuple[Json, Json]]:
    if isinstance(value, dict):
        keys: list[Json] = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    else:
        return []
    return [(value, key) for key in keys] + [at for key in keys for at in _places(value[key])]


FAULTS: tuple[Callable[[random.Random, str], str | bytes], ...] = (
    _flip_bits,
    _truncate,
    _repeat_key,
    _deep,
    _huge_number,
    *map(_of_a_place, (_delete, _wrong, _wrong, _surrogate, _shallow)),
)
