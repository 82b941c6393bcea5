"""What it costs to render a long answer while it grows (C75). Prints; asserts only ratios.

Run with `-m benchmark -s`.
"""

from __future__ import annotations

import time

import pytest

from chat.display.blocks import render_exact
from chat.display.content import Segment, SegmentType
from chat.display.stream import StreamRenderer
from tests.display.make import grown, paragraphs

pytestmark = pytest.mark.benchmark

CHUNK_CHARS = 20
SIZE_CHARS = 100_000
SAMPLES = 25
"""Full renders that are measured; each stands for as many chunks as there are samples in all."""

CODE = '    value = compute(item, key="x")  # a comment\n'


def report(line: str) -> None:
    print(f"\n{line}")  # noqa: T201 - a benchmark is read by people


def answer(size: int) -> str:
    """Prose, lists, a table and code, as a model writes them, of exactly a size."""
    parts: list[str] = []
    number = 0
    while sum(map(len, parts)) < size:
        number += 1
        parts.append(f"## Part {number}\n\n" + paragraphs(900))
        parts.append("- one **item**\n- another item\n  1. inner\n\n")
        parts.append("| name | value |\n|------|------:|\n" + "| a | 1 |\n" * 5 + "\n")
        parts.append("```py\ndef f(item):\n" + CODE * 12 + "```\n\n")
    return "".join(parts)[:size]


def incremental_seconds(document: str, type_: SegmentType) -> float:
    start = time.process_time()
    renderer = StreamRenderer()
    for words in grown(document, CHUNK_CHARS):
        renderer.update([Segment(type_, words, inline=True)])
    renderer.finish([Segment(type_, document)])
    return time.process_time() - start


def full_seconds(document: str, type_: SegmentType) -> float:
    """What rendering all of it at each chunk costs: sampled, and reckoned for all chunks."""
    chunks = len(document) // CHUNK_CHARS
    start = time.process_time()
    for sample in range(1, SAMPLES + 1):
        render_exact([Segment(type_, document[: len(document) * sample // SAMPLES])])
    return (time.process_time() - start) * chunks / SAMPLES


def test_streaming_markdown_costs_a_fiftieth_and_grows_linearly() -> None:
    document = answer(2 * SIZE_CHARS)
    once = incremental_seconds(document[:SIZE_CHARS], "markdown")
    twice = incremental_seconds(document, "markdown")
    full = full_seconds(document[:SIZE_CHARS], "markdown")
    report(
        f"markdown: 100 KB in {CHUNK_CHARS}-character chunks {once:.2f} s CPU,"
        f" 200 KB {twice:.2f} s ({twice / once:.2f} times);"
        f" rendering all each time {full:.0f} s ({full / once:.0f} times)"
    )
    assert full >= 50 * once
    assert twice < 2.3 * once


@pytest.mark.parametrize(
    ("name", "type_", "line"),
    [
        ("text in lines", "text", "A line of words, as a log has it, for https://a.example/x\n"),
        ("text in one line", "text", "words "),
        ("one paragraph", "markdown", "some **words** and "),
        ("one fence", "markdown", CODE),
        ("one list", "markdown", "- an *item* of a list\n"),
    ],
)
def test_one_long_block_grows_linearly(name: str, type_: SegmentType, line: str) -> None:
    head = "```py\n" if name == "one fence" else ""
    document = head + line * (SIZE_CHARS // len(line))
    half = incremental_seconds(document[: SIZE_CHARS // 2], type_)
    once = incremental_seconds(document, type_)
    report(f"{name}: 50 KB {half:.2f} s CPU, 100 KB {once:.2f} s")
    assert once < 3 * half
