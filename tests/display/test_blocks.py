"""The blocks of a message: kinds, what is temporary, and the elements around them."""

from __future__ import annotations

import pytest

from chat.display.blocks import render_exact, wrap_blocks
from tests.display.dom import Dom
from tests.display.make import markdown, text


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("error", "Error: "),
        ("warning", "Warning: "),
        ("info", "Info: "),
        ("success", "Success: "),
        ("status", "Status: "),
    ],
)
def test_a_kind_is_said_and_not_only_coloured(kind: str, said: str) -> None:
    (block,) = render_exact([text("words", kind)])
    dom = Dom(block)
    assert dom.elements[0].classes == {"kind", f"kind-{kind}"}
    assert dom.with_class("visually-hidden")[0].text == said
    assert dom.text == said + "words"


def test_a_kind_of_several_blocks_is_said_once() -> None:
    blocks = [Dom(block) for block in render_exact([markdown("one\n\ntwo\n\nthree", "error")])]
    assert [len(block.with_class("kind-error")) for block in blocks] == [1, 1, 1]
    assert [len(block.with_class("visually-hidden")) for block in blocks] == [1, 0, 0]


def test_a_kind_is_said_by_the_first_block_that_shows_something() -> None:
    blocks = render_exact([text("\n" * 5_000 + "words", "error")])
    assert [Dom(block).text.strip() for block in blocks] == ["Error: words"]


def test_temporary_content_can_be_told_from_what_stays() -> None:
    stays, goes = render_exact([text("answer"), text("Thinking...", "status", temporary=True)])
    assert Dom(stays).with_class("temporary") == []
    assert Dom(goes).elements[0].classes == {"temporary", "kind", "kind-status"}


def test_segments_follow_each_other() -> None:
    blocks = render_exact([text("one"), markdown("two\n\nthree"), text("\n"), text("four")])
    assert [Dom(block).text.strip() for block in blocks] == ["one", "two", "three", "four"]


def test_blocks_are_wrapped_in_elements_with_a_name_and_an_order() -> None:
    html = wrap_blocks("u1", render_exact([markdown("one\n\ntwo")]))
    assert html == (
        '<div class="block" id="b-u1-0" data-order="000000"><p dir="auto">one</p>\n</div>'
        '<div class="block" id="b-u1-1" data-order="000001"><p dir="auto">two</p>\n</div>'
    )


def test_no_blocks_are_no_markup() -> None:
    assert wrap_blocks("u1", []) == ""


def test_the_name_of_a_block_cannot_break_out() -> None:
    assert "<b>" not in wrap_blocks('"><b>', ["x"])
