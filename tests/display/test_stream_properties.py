"""What holds for any markdown, in any chunks: no error, the exact blocks, the exact end."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat.display.blocks import render_exact
from chat.display.content import SEGMENT_TYPES, Segment
from tests.display.make import markdown
from tests.display.reader import Reader

LINES = st.sampled_from(
    [
        *("para of words", "a", "b", "3", ".", "-", "+", "=", "\\", "&amp;", "<b>", "`c`", "**b"),
        *("_x_", "- item", "* item", "1. one", "2) two", "> quote", ">", "# title", "## t ##"),
        *("```", "```py", "~~~", "````", "---", "===", "***", "a|b", ":-|-:", "| a | b |", "|"),
        *("|--|--|", "| 1 |", "    code", "\tcode", "  - inner", "   more", "https://a.example"),
        *("[x](https://a.example)", "[x", "x]", "![x](y)", "\x1b[31mred", "\x1b"),
    ]
)
ENDS = st.sampled_from(["\n", "\n", "\n\n", "", " ", "\n  ", "\n    ", "\n> ", "\n- "])
DOCUMENTS = st.lists(st.tuples(LINES, ENDS), max_size=25).map(
    lambda parts: "".join(line + end for line, end in parts)
)
DEFINITIONS = st.sampled_from(["\n\n[x]: https://a.example\n", "\n[x]:\nhttps://b.example\n'a\n"])
WITH_REFERENCES = st.lists(DOCUMENTS | DEFINITIONS, max_size=6).map("".join)
STEPS = st.lists(st.integers(1, 30), min_size=1, max_size=8)
SEGMENTS = st.lists(
    st.builds(
        Segment,
        st.sampled_from(SEGMENT_TYPES),
        DOCUMENTS | st.text(),
        st.sampled_from([None, "error", "status"]),
        st.booleans(),
        st.booleans(),
    ),
    max_size=4,
)


def prefixes(document: str, steps: list[int]) -> list[str]:
    ends, at = [0], 0
    while at < len(document):
        at += steps[len(ends) % len(steps)]
        ends.append(at)
    return [document[:end] for end in ends]


@given(DOCUMENTS, STEPS)
@settings(deadline=None)
@example("foo\na | b\n--|-x\n", [1])
@example("1. a\n\n2. b\n\nc\n", [1])
@example("- a\n\n      code\n\nb\n\n    code\n", [1])
@example("para\n-\n", [1])
def test_blocks_are_the_exact_ones_at_every_moment(document: str, steps: list[int]) -> None:
    reader = Reader()
    for words in prefixes(document, steps):
        shown = reader.stream(words)
        assert reader.page == shown
    # What was closed on the way is right: it is how the whole document begins.
    assert reader.closed == render_exact([markdown(document)])[: len(reader.closed)]


@given(WITH_REFERENCES | st.text(), STEPS)
@settings(max_examples=200, deadline=None)
def test_the_end_is_exact_whatever_streamed(document: str, steps: list[int]) -> None:
    reader = Reader()
    for words in prefixes(document, steps):
        reader.update([markdown(words)])
    reader.finish([markdown(document)])
    assert reader.page == render_exact([markdown(document)])


@given(st.lists(SEGMENTS, max_size=5))
@settings(deadline=None)
def test_any_messages_may_follow_each_other(messages: list[list[Segment]]) -> None:
    reader = Reader()
    for segments in messages:
        reader.update(segments)
    for segments in messages[-1:]:
        reader.finish(segments)
        assert reader.page == render_exact(segments)
