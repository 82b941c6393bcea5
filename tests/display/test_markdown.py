"""Content of type markdown: CommonMark with tables, in the tags and classes that the page knows."""

from __future__ import annotations

import pytest

from chat.display.blocks import render_exact
from chat.display.markdown import (
    MAX_BRACKETS,
    MAX_HIGHLIGHT_CHARS,
    MAX_MARKDOWN_CHARS,
    MAX_NESTING,
)
from tests.display.make import drawn, markdown


def test_each_top_level_block_is_a_block_of_its_own() -> None:
    blocks = render_exact([markdown("# Title\n\npara\n\n- a\n- b\n\n> quote\n\n---\n")])
    assert [block.split(">")[0].split()[0].strip("<") for block in blocks] == [
        "h3",
        "p",
        "ul",
        "blockquote",
        "hr",
    ]


@pytest.mark.parametrize(
    ("marks", "tag"), [("#", "h3"), ("##", "h4"), ("###", "h5"), ("####", "h6"), ("######", "h6")]
)
def test_headings_stand_below_those_of_the_page(marks: str, tag: str) -> None:
    assert drawn(markdown(f"{marks} Title")).one(tag).text == "Title"


def test_emphasis_strikethrough_and_code_are_drawn() -> None:
    dom = drawn(markdown("*a* **b** ~~c~~ `d`"))
    assert [dom.one(tag).text for tag in ("em", "strong", "s", "code")] == ["a", "b", "c", "d"]


def test_an_ordered_list_keeps_its_first_number() -> None:
    assert drawn(markdown("3. three\n4. four")).one("ol").attributes["start"] == "3"


def test_a_table_can_scroll_by_itself_and_is_aligned_by_classes() -> None:
    dom = drawn(markdown("| a | b | c |\n|:--|:-:|--:|\n| 1 | 2 | 3 |"))
    assert dom.one("table").parents == ["div"]
    assert dom.elements[0].classes == {"table-wrap"}
    assert [cell.classes for cell in dom.all("td")] == [
        {"align-left"},
        {"align-center"},
        {"align-right"},
    ]
    assert not any("style" in element.attributes for element in dom.elements)


@pytest.mark.parametrize(
    ("words", "tag"),
    [
        ("x", "p"),
        ("# x", "h3"),
        ("- x", "li"),
        ("> x", "blockquote"),
        ("|x|\n|-|\n|y|", "td"),
        ("|x|\n|-|\n|y|", "th"),
    ],
)
def test_each_block_of_words_finds_its_own_direction(words: str, tag: str) -> None:
    assert drawn(markdown(words)).one(tag).attributes["dir"] == "auto"


@pytest.mark.parametrize(
    ("words", "tag"), [("```\nx\n```", "pre"), ("    x", "pre"), ("`x`", "code")]
)
def test_code_reads_from_the_left(words: str, tag: str) -> None:
    assert drawn(markdown(words)).one(tag).attributes["dir"] == "ltr"


def test_code_is_coloured_without_changing_it() -> None:
    dom = drawn(markdown("```py\ndef f():\n    return '<b>'\n```"))
    code = dom.one("code")
    assert code.classes == {"language-py"}
    assert code.parents == ["div", "pre"]
    assert code.text == "def f():\n    return '<b>'\n"
    assert {span.text for span in dom.with_class("k")} == {"def", "return"}


def test_code_keeps_its_blank_lines_and_spaces() -> None:
    dom = drawn(markdown("```py\n\n\n  x = 1  \n\n\n```"))
    assert dom.one("code").text == "\n\n  x = 1  \n\n\n"


@pytest.mark.parametrize("info", ["", "brainfuck", "no-such-language", "py<b>", "日本語"])
def test_code_of_another_language_is_shown_plainly(info: str) -> None:
    dom = drawn(markdown(f"```{info}\n+++\n```"))
    assert dom.one("code").text == "+++\n"
    assert dom.all("b") == []


def test_only_the_first_word_of_the_info_line_names_the_language() -> None:
    assert drawn(markdown("```js title=x\n1\n```")).one("code").classes == {"language-js"}


def test_very_long_code_is_not_coloured() -> None:
    dom = drawn(markdown("```py\n" + "def f(): pass\n" * (MAX_HIGHLIGHT_CHARS // 10) + "```"))
    assert dom.all("span") == []


def test_bare_http_addresses_become_links_but_not_in_code() -> None:
    dom = drawn(markdown("https://a.example/x_y_z. `https://b.example` <https://c.example/>"))
    assert dom.hrefs() == ["https://a.example/x_y_z", "https://c.example/"]


def test_the_words_of_a_link_are_not_linked_again() -> None:
    assert drawn(markdown("[https://a.example](https://b.example)")).hrefs() == [
        "https://b.example"
    ]
    assert drawn(markdown("[https://a.example](relative)")).hrefs() == []


def test_a_link_keeps_its_title_and_opens_elsewhere() -> None:
    link = drawn(markdown('[x](https://a.example "a \\"tip\\"")')).one("a")
    assert link.attributes["title"] == 'a "tip"'
    assert link.attributes["target"] == "_blank"
    assert link.attributes["rel"] == "noopener noreferrer nofollow"


def test_references_may_be_defined_after_their_use() -> None:
    assert drawn(markdown("[x][1]\n\n[1]: https://a.example/")).hrefs() == ["https://a.example/"]


def test_a_picture_in_the_text_itself_is_shown() -> None:
    image = drawn(markdown('![a *b*](data:image/png;base64,iVBORw0KGgo= "tip")')).one("img")
    assert image.attributes == {
        "src": "data:image/png;base64,iVBORw0KGgo=",
        "alt": "a b",
        "title": "tip",
    }


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    dom = drawn(markdown("> " * 5_000 + "x"))
    assert 0 < len(dom.all("blockquote")) <= MAX_NESTING
    assert drawn(markdown("\n".join("  " * depth + "- a" for depth in range(300)))).all("li")


def test_a_paragraph_of_brackets_is_drawn_as_words() -> None:
    words = "[" * (MAX_BRACKETS + 1)
    assert drawn(markdown(f"{words}\n\n[x](https://a.example)")).hrefs() == ["https://a.example"]
    assert drawn(markdown(words)).text.strip() == words


def test_an_enormous_markdown_text_is_drawn_as_text() -> None:
    dom = drawn(markdown("*a*\n\n" * (MAX_MARKDOWN_CHARS // 4)))
    assert dom.all("em") == []
    assert dom.text.startswith("*a*\n\n*a*")
