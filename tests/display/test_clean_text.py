"""The one choke point for characters that a database or an encoder refuses (C59)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.display.blocks import render_exact, render_user_text
from chat.display.content import Segment, parse_content
from chat.display.words import clean_text
from tests.display.dom import Dom

ANY_TEXT = st.text(st.characters(exclude_categories=[]))


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("a\x00b", "ab"),
        ("\x00", ""),
        ("a\ud83db", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("a\r\nb\rc\r", "a\nb\nc"),
        ("日本語 😀\u2028\t\n", "日本語 😀\u2028\t\n"),
    ],
)
def test_c59_text_is_made_fit_for_every_database(dirty: str, clean: str) -> None:
    assert clean_text(dirty) == clean


@given(ANY_TEXT)
@settings(deadline=None)
def test_c59_what_is_clean_can_be_encoded_and_stays(dirty: str) -> None:
    clean = clean_text(dirty)
    clean.encode()
    assert "\x00" not in clean
    assert clean_text(clean) == clean


@pytest.mark.parametrize(
    "content",
    [
        "a\x00b",
        ["a\x00", "b"],
        {"type": "markdown", "content": "a\x00b"},
        {"type": "text", "content": [["a\x00b"], ["c"]]},
        {"type": "html", "content": "<b>a\x00b</b>"},
        {"type": "a\x00", "content": "a\x00b"},
    ],
)
def test_c59_no_content_brings_a_nul(content: object) -> None:
    segment = parse_content(content)
    assert segment is not None
    assert "\x00" not in segment.text


@given(ANY_TEXT)
@settings(deadline=None)
def test_c59_text_that_nobody_cleaned_still_renders(dirty: str) -> None:
    for blocks in (
        render_exact([Segment("text", dirty), Segment("markdown", dirty), Segment("html", dirty)]),
        [render_user_text(dirty)],
    ):
        Dom(blocks)
        "".join(blocks).encode()
