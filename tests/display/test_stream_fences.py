"""A fence that streams is code from its first line on, and nothing flickers meanwhile (C74)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chat.display.blocks import render_exact
from tests.display.dom import Dom
from tests.display.make import markdown
from tests.display.reader import Reader


def flickers(chunks: Sequence[str]) -> list[str]:
    """The words of a page after each chunk."""
    reader, words, seen = Reader(), "", []
    for chunk in chunks:
        words += chunk
        reader.update([markdown(words)])
        seen.append(Dom(reader.page).text.strip())
    reader.finish([markdown(words)])
    return [*seen, Dom(reader.page).text.strip()]


def test_c74_a_fence_never_shows_its_backticks() -> None:
    seen = flickers(list("words\n\n```py\nprint('$1')\n```"))
    assert not any("`" in words for words in seen)
    assert seen[-1].split() == ["words", "print('$1')"]


def test_c74_an_unclosed_fence_is_code_to_the_end() -> None:
    dom = Dom(render_exact([markdown("```py\nprint('$1')\n\n# not a heading\n\n- not a list")]))
    assert dom.one("code").text == "print('$1')\n\n# not a heading\n\n- not a list"
    assert [element.tag for element in dom.elements] == ["div", "pre", "code"]


def test_c74_a_fence_that_ends_with_the_text_is_closed() -> None:
    dom = Dom(render_exact([markdown("```py\nprint('$1')\n```")]))
    assert dom.one("code").text == "print('$1')\n"
    assert dom.with_class("nb")


def test_c74_code_is_coloured_when_its_fence_closes_and_not_before() -> None:
    reader = Reader()
    reader.update([markdown("```py\ndef f(): pass\n")])
    assert Dom(reader.page).all("span") == []
    reader.update([markdown("```py\ndef f(): pass\n```\n")])
    assert Dom(reader.page).with_class("k")


@pytest.mark.parametrize("line", ["-", "--", "=", "#", "*", "|", "|--", "> ", "  - ", "~~", "1"])
def test_c74_the_words_above_an_unfinished_line_stay_a_paragraph(line: str) -> None:
    reader = Reader()
    reader.update([markdown("words above\n" + line)])
    assert [element.tag for element in Dom(reader.page).elements] == ["p"]
