"""Content of type text, and what a user wrote: words as they are, lines kept, plain links."""

from __future__ import annotations

import pytest

from chat.display.blocks import (
    TEXT_BLOCK_CHARS,
    TEXT_BLOCK_MAX_CHARS,
    render_exact,
    render_user_text,
)
from tests.display.dom import Dom
from tests.display.make import drawn, text


def test_markup_in_text_is_shown_as_words() -> None:
    dom = drawn(text("<b>1 & 2</b>"))
    assert dom.text == "<b>1 & 2</b>"
    assert [element.tag for element in dom.elements] == ["div"]


def test_markdown_in_text_stays_as_it_is() -> None:
    assert drawn(text("**not bold**\n- not a list")).text == "**not bold**\n- not a list"


def test_lines_are_kept_in_a_block_that_preserves_them() -> None:
    (block,) = render_exact([text("one\n  two\n\nthree")])
    assert Dom(block).one("div").classes == {"text"}
    assert Dom(block).text == "one\n  two\n\nthree"


def test_each_text_block_finds_its_own_direction() -> None:
    assert drawn(text("שלום run ./a.sh -v")).one("div").attributes["dir"] == "auto"


@pytest.mark.parametrize("words", ["", "\n", "\n\n\n", "  \n", "\x1b[31m\n\x1b[0m"])
def test_text_without_a_visible_character_draws_nothing(words: str) -> None:
    assert render_exact([text(words)]) == []


@pytest.mark.parametrize(
    ("words", "href"),
    [
        ("see https://a.example/x.", "https://a.example/x"),
        ("(https://a.example/x)", "https://a.example/x"),
        ("https://a.example/x_(y)", "https://a.example/x_(y)"),
        ("https://a.example/?a=1&b=2!", "https://a.example/?a=1&b=2"),
        ("HTTP://A.example", "HTTP://A.example"),
        ("mailto:me@a.example, thanks", "mailto:me@a.example"),
        ('"https://a.example/"', "https://a.example/"),
        ("https://a.example/]}])", "https://a.example/"),
    ],
)
def test_a_written_out_address_becomes_a_link(words: str, href: str) -> None:
    dom = drawn(text(words))
    assert dom.hrefs() == [href]
    assert dom.text == words


@pytest.mark.parametrize(
    "words",
    [
        "README.md and example.com",
        "ftp://a.example/x",
        "javascript:alert(1)",
        "xhttps://a.example",
        "https:// and mailto: alone",
        "https://... and mailto:!",
        "me@a.example",
        "data:text/html,x",
        "//a.example/x",
    ],
)
def test_anything_else_is_not_guessed_to_be_a_link(words: str) -> None:
    dom = drawn(text(words))
    assert dom.all("a") == []
    assert dom.text == words


def test_a_link_opens_elsewhere_and_tells_nothing_about_us() -> None:
    link = drawn(text("https://a.example/")).one("a")
    assert link.attributes["target"] == "_blank"
    assert link.attributes["rel"].split() == ["noopener", "noreferrer", "nofollow"]


def test_what_a_user_wrote_is_one_block_whatever_its_length() -> None:
    words = "line\n\n" * 2_000
    dom = Dom(render_user_text("<i>hi</i> https://a.example/\n" + words))
    assert len(dom.all("div")) == 1
    assert dom.all("i") == []
    assert dom.hrefs() == ["https://a.example/"]
    assert dom.text == ("<i>hi</i> https://a.example/\n" + words).rstrip("\n")


def test_a_long_text_becomes_several_blocks_that_hold_all_of_it() -> None:
    paragraphs = [f"{number} " + "word " * 60 for number in range(100)]
    blocks = render_exact([text("\n\n".join(paragraphs))])
    assert len(blocks) > 5
    assert all(len(Dom(block).text) < TEXT_BLOCK_CHARS + 600 for block in blocks)
    assert "\n\n".join(Dom(block).text for block in blocks) == "\n\n".join(paragraphs)


def test_a_long_text_without_blank_lines_is_cut_at_a_line_end() -> None:
    lines = [f"line {number} of a log" for number in range(1_000)]
    blocks = render_exact([text("\n".join(lines))])
    assert len(blocks) > 2
    assert all(len(Dom(block).text) < TEXT_BLOCK_MAX_CHARS + 30 for block in blocks)
    assert "\n".join(Dom(block).text for block in blocks) == "\n".join(lines)


def test_a_line_is_never_cut() -> None:
    assert len(render_exact([text("a" * 50_000)])) == 1


def test_blank_lines_around_a_text_are_left_out() -> None:
    assert drawn(text("\n\n  one\n\n")).text == "  one"


def test_carriage_returns_end_lines() -> None:
    assert drawn(text("one\rtwo")).text == "one\ntwo"
