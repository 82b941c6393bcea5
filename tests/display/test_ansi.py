"""Terminal escapes: colours become classes, all else is dropped (C83)."""

from __future__ import annotations

import pytest

from chat.display.ansi import strip_escapes
from chat.display.blocks import TEXT_BLOCK_CHARS, render_exact
from chat.display.content import parse_content
from chat.display.stream import StreamRenderer
from tests.display.dom import Dom
from tests.display.make import drawn, markdown, text


@pytest.mark.parametrize(
    ("codes", "classes"),
    [
        ("31", {"ansi-red"}),
        ("97", {"ansi-bright-white"}),
        ("44", {"ansi-bg-blue"}),
        ("103", {"ansi-bg-bright-yellow"}),
        ("1;32", {"ansi-bold", "ansi-green"}),
        ("2;3;4;7;9", {"ansi-dim", "ansi-italic", "ansi-underline", "ansi-inverse", "ansi-strike"}),
        ("38;5;9", {"ansi-bright-red"}),
        ("38;5;21", {"ansi-blue"}),
        ("38;5;232", {"ansi-black"}),
        ("48;5;255", {"ansi-bg-white"}),
        ("38;2;250;5;5", {"ansi-bright-red"}),
        ("38:2:0:200:0", {"ansi-green"}),
        ("38;5;3;1", {"ansi-yellow", "ansi-bold"}),
        ("01;031", {"ansi-bold", "ansi-red"}),
    ],
)
def test_a_colour_becomes_a_class(codes: str, classes: set[str]) -> None:
    dom = drawn(text(f"a \x1b[{codes}mwords\x1b[0m b"))
    span = dom.one("span")
    assert span.classes == classes
    assert span.text == "words"
    assert dom.text == "a words b"


@pytest.mark.parametrize("codes", ["", "0", "39", "22;31;39", "38;5;999", "38;5", "38;9;1", "58"])
def test_a_code_that_leaves_the_look_plain_makes_no_span(codes: str) -> None:
    assert drawn(text(f"\x1b[{codes}mwords")).all("span") == []


@pytest.mark.parametrize(
    ("off", "left"),
    [
        ("22", {"ansi-italic", "ansi-underline", "ansi-inverse", "ansi-strike"}),
        ("23;24", {"ansi-bold", "ansi-inverse", "ansi-strike"}),
        ("27;29", {"ansi-bold", "ansi-italic", "ansi-underline"}),
    ],
)
def test_a_style_can_be_switched_off_alone(off: str, left: set[str]) -> None:
    spans = drawn(text(f"\x1b[1;3;4;7;9ma\x1b[{off}mb")).all("span")
    assert spans[1].classes == left


def test_a_background_can_be_switched_off_alone() -> None:
    spans = drawn(text("\x1b[31;42ma\x1b[49mb")).all("span")
    assert [span.classes for span in spans] == [{"ansi-red", "ansi-bg-green"}, {"ansi-red"}]


def test_a_colour_lasts_over_lines_until_it_is_switched_off() -> None:
    dom = drawn(text("\x1b[31mone\ntwo\x1b[0m three"))
    assert dom.one("span").text == "one\ntwo"


def test_a_colour_goes_on_in_the_next_block_of_a_long_text() -> None:
    blocks = render_exact([text("\x1b[32m" + "word " * (TEXT_BLOCK_CHARS // 4) + "\n\nend")])
    assert Dom(blocks[1]).one("span").classes == {"ansi-green"}


@pytest.mark.parametrize(
    "escape",
    [
        "\x1b[2K",
        "\x1b[1;1H",
        "\x1b[?25l",
        "\x1b]0;a title\x07",
        "\x1b]8;;https://a.example\x1b\\",
        "\x1bPq#0\x1b\\",
        "\x1b(B",
        "\x1b=",
        "\x1bM",
        "\x07",
        "\x08",
        "\x00",
        "\x85",
        "\x9b2K",
        "\x9d0;title\x07",
    ],
)
def test_every_other_escape_is_dropped(escape: str) -> None:
    assert drawn(text(f"a{escape}b")).text in ("ab", "a\ufffdb")
    assert strip_escapes(f"a{escape}b") == "ab"


@pytest.mark.parametrize("escape", ["\x1b", "\x1b[", "\x1b[3", "\x1b[31;", "\x1b]0;tit", "\x9b3"])
def test_an_escape_that_has_only_half_arrived_is_not_shown(escape: str) -> None:
    assert drawn(text(f"words{escape}")).text == "words"


def test_an_unfinished_escape_never_reaches_the_next_line() -> None:
    assert drawn(text("a\x1b]0;title\nb")).text == "a\nb"


def test_a_link_in_a_colour_is_still_a_link() -> None:
    dom = drawn(text("\x1b[34mhttps://a.example/x\x1b[0m."))
    assert dom.hrefs() == ["https://a.example/x"]
    assert dom.one("span").classes == {"ansi-blue"}


def test_colours_work_in_markdown() -> None:
    dom = drawn(markdown("\x1b[31mred **bold**\x1b[0m [x](https://a.example/)"))
    assert [span.text for span in dom.with_class("ansi-red")] == ["red ", "bold"]
    assert dom.one("strong").text == "bold"
    assert dom.hrefs() == ["https://a.example/"]


def test_escapes_in_code_are_colours_or_gone() -> None:
    assert drawn(markdown("```\n\x1b[31mred\x1b[0m\n```")).one("span").classes == {"ansi-red"}
    assert drawn(markdown("```py\n\x1b[31mx\x1b[0m\n```")).text.strip() == "x"
    assert drawn(markdown("`\x1b[31mx\x1b[0m`")).text.strip() == "x"
    assert drawn(markdown("    \x1b[31mx\x1b[0m")).one("span").classes == {"ansi-red"}


def test_colours_in_a_table_cell_survive_the_table() -> None:
    segment = parse_content([["\x1b[31mred\x1b[0m", "b"]])
    assert segment is not None
    dom = drawn(segment)
    assert dom.one("span").classes == {"ansi-red"}
    assert "[" not in dom.text


def test_a_colour_split_over_two_chunks_is_a_colour() -> None:
    chunks = ["\x1b[3", "1mred\x1b", "[0m"]
    renderer, words = StreamRenderer(), ""
    for chunk in chunks:
        words += chunk
        renderer.update([text(words, inline=True)])
        assert "31m" not in Dom(renderer.blocks).text
    assert Dom(renderer.blocks).one("span").classes == {"ansi-red"}
