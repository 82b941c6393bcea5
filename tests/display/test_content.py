"""Whatever an agent sends as content becomes a segment, a notice or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.display.blocks import render_exact
from chat.display.content import (
    MAX_TYPE_CHARS,
    NO_RICH,
    Segment,
    html_to_text,
    parse_content,
    plain_text,
    segment_from_json,
    segment_to_json,
)
from chat.display.structured.reading import NO_STRUCTURED
from chat.display.words import Json
from tests.display.make import markdown, shown, text

NOTHING: list[Json] = [
    None,
    "",
    [],
    [[]],
    {"type": "text", "content": ""},
    {"type": "markdown", "content": []},
    {"type": "text", "content": None},
]


@pytest.mark.parametrize("content", NOTHING)
def test_empty_content_is_nothing(content: Json) -> None:
    assert parse_content(content) is None


@pytest.mark.parametrize(
    ("content", "segment"),
    [
        ("words", text("words")),
        (["one", "two"], text("one\ntwo")),
        (["one", None, 3, True], text("one\n\n3\ntrue")),
        (42, text("42")),
        ({"type": "text", "content": "x"}, text("x")),
        ({"type": "text", "content": ["x", "y"]}, text("x\ny")),
        ({"type": "markdown", "content": ["# x", "y"]}, markdown("# x\ny")),
        ({"content": "no type"}, text("no type")),
        ({"type": "text", "content": "x", "kind": "error"}, text("x", "error")),
        ({"type": "text", "content": "x", "kind": "purple"}, text("x")),
        ({"type": "text", "content": "x", "kind": ["error"]}, text("x")),
        ({"type": "text", "content": {"text": "inner"}}, text("inner")),
        ({"type": "text", "content": {"a": 1}}, text('{"a": 1}')),
    ],
)
def test_text_and_markdown_come_as_they_are(content: Json, segment: Segment) -> None:
    assert parse_content(content) == segment


def test_two_levels_of_lists_are_a_table_with_a_header() -> None:
    dom = shown([["h1", "h2"], ["a", "b"], ["c"]])
    assert [cell.text for cell in dom.all("th")] == ["h1", "h2"]
    assert [cell.text for cell in dom.all("td")] == ["a", "b", "c", ""]


def test_a_row_longer_than_the_header_loses_nothing() -> None:
    assert [cell.text for cell in shown([["h"], ["a", "b"]]).all("td")] == ["a", "b"]


def test_a_line_among_rows_is_a_row() -> None:
    assert [cell.text for cell in shown([["h", "i"], "line"]).all("td")] == ["line", ""]


@pytest.mark.parametrize(
    "cell",
    [
        "a|b",
        "*a*",
        "`a|b`",
        "<b>",
        "[x](https://a.example)",
        "a\\",
        "\\|",
        "~~a~~",
        "&amp;",
        "![x](y)",
    ],
)
def test_a_cell_of_a_text_table_is_shown_as_written(cell: str) -> None:
    dom = shown({"type": "text", "content": [["h", "i"], [cell, "next"]]})
    assert [found.text for found in dom.all("td")] == [cell, "next"]


def test_a_cell_stays_in_its_row_whatever_it_holds() -> None:
    dom = shown([["h"], ["one\n\n# two"], [{"content": "three"}], [None]])
    assert [cell.text for cell in dom.all("td")] == ["one # two", "three", ""]


def test_a_cell_of_a_markdown_table_may_have_markup() -> None:
    dom = shown({"type": "markdown", "content": [["h", "i"], ["**a**", "b|c"]]})
    assert dom.one("strong").text == "a"
    assert [cell.text for cell in dom.all("td")] == ["a", "b|c"]


def test_a_cell_of_an_html_table_is_its_words() -> None:
    dom = shown({"type": "html", "content": [["<b>h</b>"], ["<i>a</i> &amp; *b*"]]})
    assert [cell.text for cell in dom.all("td")] == ["a & *b*"]


@pytest.mark.parametrize("name", ["html", "iframe", "structured", "hologram"])
def test_richer_content_gives_its_best_alternate(name: str) -> None:
    alternates = [
        {"type": "html", "content": "<b>html</b>"},
        {"type": "text", "content": "text"},
        {"type": "markdown", "content": "*markdown*"},
    ]
    content = {"type": name, "content": "<i>rich</i>", "kind": "info", "alternates": alternates}
    assert parse_content(content) == markdown("*markdown*", "info")
    assert parse_content({**content, "alternates": alternates[:2]}) == text("text", "info")
    assert parse_content({**content, "alternates": alternates[:1]}) == text("html", "info")


def test_an_empty_or_broken_alternate_is_passed_over() -> None:
    alternates = [
        None,
        "text",
        {"type": "markdown", "content": ""},
        {"type": "text", "content": "words", "kind": "warning"},
    ]
    content = {"type": "structured", "blocks": [], "alternates": alternates}
    assert parse_content(content) == text("words", "warning")


def test_text_is_not_exchanged_for_its_alternates() -> None:
    content = {
        "type": "text",
        "content": [["a"], ["b"]],
        "alternates": [{"type": "html", "content": "<table>"}],
    }
    assert [cell.text for cell in shown(content).all("td")] == ["b"]


def test_html_without_alternates_gives_its_words() -> None:
    assert parse_content({"type": "html", "content": "<b>bold</b> <i>it</i>"}) == text("bold it")
    assert parse_content({"type": "html", "content": ["<b>one</b>", "two"]}) == text("one two")


@pytest.mark.parametrize("alternates", [None, [], "x", {}, [{"type": "speech", "content": "x"}]])
def test_content_that_cannot_be_shown_says_so(alternates: Json) -> None:
    frame = {"type": "iframe", "content": "<p>", "alternates": alternates}
    blocks = {"type": "structured", "blocks": [{"kind": "hologram"}], "alternates": alternates}
    assert parse_content(frame) == text(NO_RICH)
    assert parse_content(blocks) == text(NO_STRUCTURED)


def test_an_unknown_type_is_shown_as_text_with_a_notice() -> None:
    segment = parse_content({"type": "hologram", "content": "words", "kind": "info"})
    assert segment == text("Content of the type “hologram” is shown as text:\n\nwords", "info")


def test_an_unknown_type_without_words_says_so() -> None:
    segment = parse_content({"type": "x" * 500})
    assert segment == text(f"Content of the type “{'x' * MAX_TYPE_CHARS}” cannot be shown here.")


def test_an_unknown_type_with_a_table_shows_the_table() -> None:
    assert shown({"type": "grid", "content": [["h"], ["a"]]}).one("td").text == "a"


def test_content_nested_too_deep_to_write_down_is_shortened() -> None:
    deep: Json = []
    for _ in range(100_000):
        deep = {"x": deep}
    assert parse_content({"type": "text", "content": deep}) == text("…")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["type", "content", "kind", "alternates", "blocks", "text"])
            | st.text(),
            inner | st.sampled_from(["text", "markdown", "html", "iframe", "structured"]),
        )
    ),
    max_leaves=12,
)


@given(JSON)
@settings(deadline=None)
def test_no_json_can_break_the_display(content: Any) -> None:
    segment = parse_content(content)
    if segment is not None:
        assert segment_from_json(segment_to_json(segment)) == segment
        render_exact([segment])
        plain_text([segment])


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("<p>a</p><p>b</p>", "a b"),
        ("a &lt; b &amp; c", "a < b & c"),
        ("&lt;b&gt;", "<b>"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("<!-- no -->yes", "yes"),
        ("<" * 50_000, "<" * 50_000),
    ],
)
def test_html_is_reduced_to_words(html: str, words: str) -> None:
    assert html_to_text(html) == words


def test_plain_text_is_the_words_alone() -> None:
    words = plain_text(
        [
            text("\x1b[31mred\x1b[0m\n"),
            markdown("# T\n\n3. a *b*\n4. c\n\n| x | y |\n|--|--|\n| 1 | 2 |"),
            markdown(
                "- [l](https://a.example)\\\n  `c`\n\n```py\nd\n```\n\n![alt](https://a.example)"
            ),
            Segment("html", "<b>e</b>"),
            text(""),
        ]
    )
    assert words == "red\n\nT\n\n3. a b\n4. c\n\nx\ty\n1\t2\n\n- l\nc\n\nd\n\nalt\n\ne"


@pytest.mark.parametrize(
    "segment",
    [
        text("a"),
        markdown("b", "error", inline=True, temporary=True),
        Segment("html", "c", None, inline=True),
    ],
)
def test_a_segment_comes_back_from_the_database(segment: Segment) -> None:
    assert segment_from_json(segment_to_json(segment)) == segment


def test_a_stored_segment_says_only_what_is_not_the_default() -> None:
    assert segment_to_json(text("a")) == {"type": "text", "text": "a"}


@pytest.mark.parametrize("data", [{"type": "new", "text": "a", "kind": "new"}, {"text": "a"}, "a"])
def test_a_stored_segment_of_another_version_gives_its_text(data: Json) -> None:
    assert segment_from_json(data) == text("a")
