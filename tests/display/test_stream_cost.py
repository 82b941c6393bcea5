"""The work for a stream grows with its length, not with its square (C75): counted, not timed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chat.display import stream
from chat.display.blocks import TEXT_BLOCK_MAX_CHARS, render_exact, text_markup
from chat.display.markdown import Block, References, parse_blocks
from chat.display.stream import OPEN_BLOCK_FREE_CHARS, OPEN_BLOCK_GROWTH, StreamRenderer
from tests.display.make import grown, markdown, paragraphs, text
from tests.display.reader import Reader


class Counter:
    """Counts the characters that a function of the renderer gets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, real: Callable[..., object]):
        self.characters = 0
        self._real = real
        monkeypatch.setattr(stream, name, self)

    def __call__(self, source: str, *rest: object) -> object:
        self.characters += len(source)
        return self._real(source, *rest)


def parse_small_blocks(source: str, references: References) -> list[Block]:
    """The real parser where blocks are small: to parse 50 KB a hundred times takes long."""
    return parse_blocks(source, references) if len(source) < OPEN_BLOCK_FREE_CHARS else []


@pytest.mark.parametrize(
    ("document", "factor"),
    [
        pytest.param(paragraphs(30_000), 40, id="paragraphs"),
        pytest.param("word " * 10_000, 2 * OPEN_BLOCK_GROWTH, id="one paragraph"),
        pytest.param("```py\n" + "x = 1\n" * 8_000, 2 * OPEN_BLOCK_GROWTH, id="one fence"),
        pytest.param("- item\n" * 7_000, 2 * OPEN_BLOCK_GROWTH, id="one list"),
    ],
)
def test_c75_each_character_is_parsed_a_bounded_number_of_times(
    monkeypatch: pytest.MonkeyPatch, document: str, factor: int
) -> None:
    parsed = Counter(monkeypatch, "parse_blocks", parse_small_blocks)
    renderer = StreamRenderer()
    for words in grown(document, 20):
        renderer.update([markdown(words, inline=True)])
    assert len(document) < parsed.characters < factor * len(document)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param("line of words\n" * 7_000, id="lines"),
        pytest.param(("words " * 50 + "\n\n") * 300, id="paragraphs"),
        pytest.param("a" * 100_000, id="one line"),
    ],
)
def test_c75_each_character_of_text_is_drawn_a_bounded_number_of_times(
    monkeypatch: pytest.MonkeyPatch, document: str
) -> None:
    drawn = Counter(monkeypatch, "text_markup", text_markup)
    renderer = StreamRenderer()
    for words in grown(document, 40):
        renderer.update([text(words, inline=True)])
    bound = max(2 * OPEN_BLOCK_GROWTH, TEXT_BLOCK_MAX_CHARS // 40)
    assert len(document) <= drawn.characters < bound * len(document)


@pytest.mark.parametrize("line", ["one line of words\n", "one line of words\n\n", "word "])
def test_c75_what_is_sent_grows_with_the_text_and_not_with_its_square(line: str) -> None:
    def sent(document: str) -> int:
        reader = Reader()
        for words in grown(document, 40):
            reader.update([text(words, inline=True)])
        return reader.received

    assert sent(line * 4_000) < 2.3 * sent(line * 2_000)


def test_references_without_end_are_left_to_the_exact_render(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = "".join(
        f"[use {n}][{n}] words\n\n[{n + 9}]: https://a.example/{n}\n\n" for n in range(200)
    )
    parsed = Counter(monkeypatch, "parse_blocks", parse_blocks)
    reader = Reader()
    for words in grown(document, 50):
        reader.update([markdown(words)])
    assert parsed.characters < 20 * len(document)
    reader.finish([markdown(document)])
    assert reader.page == render_exact([markdown(document)])
