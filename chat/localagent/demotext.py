"""Markdown of any length, always the same: what `@demo stream` streams and a test expects."""

from __future__ import annotations

from itertools import count, pairwise

PROSE = (
    "the river turns slowly past the old mill and a quiet road follows it through the trees while "
    "small boats wait for the evening wind and the first lights appear along the far bank"
)
WORDS = PROSE.split()
WORDS_IN_PARAGRAPH = 36


def demo_text(chars: int) -> str:
    """Exactly `chars` characters of markdown: headings, emphasis, lists, a table, code, links."""
    parts: list[str] = []
    length = 0
    for number in count(1):
        if length >= chars:
            break
        part = _section(number)
        parts.append(part)
        length += len(part)
    return "".join(parts)[:chars]


def chunks_of(text: str, count_: int) -> list[str]:
    """The text in about equal pieces, none of them empty."""
    count_ = max(1, min(count_, len(text)))
    edges = [len(text) * i // count_ for i in range(count_ + 1)]
    return [text[a:b] for a, b in pairwise(edges)]


def _section(number: int) -> str:
    prose = _prose(number)
    return (
        f"## Part {number}\n\n{prose}\n\n"
        f"- **first** thing of part {number}\n- *second* thing\n- `third_thing({number})`\n\n"
        f"| name | value |\n| --- | --- |\n| part {number} | {number * 7} |\n\n"
        f"```python\ndef part_{number}() -> int:\n    return {number}\n```\n\n"
        f"> {_prose(number + 3)}\n\n"
    )


def _prose(seed: int) -> str:
    words = [WORDS[(seed * 5 + i) % len(WORDS)] for i in range(WORDS_IN_PARAGRAPH)]
    words[seed % WORDS_IN_PARAGRAPH] = f"**{words[seed % WORDS_IN_PARAGRAPH]}**"
    text = " ".join(words)
    return text[0].upper() + text[1:] + "."
