"""A message while it grows: what an update changes, and that little is rendered again."""

from __future__ import annotations

import pytest

from chat.display import blocks
from chat.display.blocks import render_exact, wrap_blocks
from chat.display.content import Segment
from chat.display.stream import OPEN_BLOCK_FREE_CHARS, Patch, StreamRenderer
from tests.display.dom import Dom
from tests.display.make import grown, markdown, text
from tests.display.reader import Reader

ANSWER = """\
# A plan

Some words about **it**, with a [link](https://a.example) and `code`.
A second line.

1. one
2. two

   more of two
   - inner *a*
   - inner b

> A quote
> of two lines

```py
def f(x):
    # ---
    return "$1"
```

| name | value |
|:-----|------:|
| a    | 1     |
| b    | 2     |

Almost
------

    indented
    code

* loose

* list
***
The end.
"""


def test_the_first_update_brings_all_blocks() -> None:
    renderer = StreamRenderer()
    segments = [markdown("one\n\ntwo"), text("three")]
    patch = renderer.update(segments)
    assert patch == Patch(list(enumerate(render_exact(segments))), 3, shrunk=False)
    assert renderer.blocks == render_exact(segments)


def test_an_update_without_a_change_changes_nothing() -> None:
    renderer = StreamRenderer()
    renderer.update([markdown("one\n\ntwo"), text("three")])
    assert renderer.update([markdown("one\n\ntwo"), text("three")]) == Patch([], 3, shrunk=False)


def test_only_the_open_block_is_sent_again() -> None:
    renderer = StreamRenderer()
    renderer.update([markdown("one\n\ntwo\n\nthr")])
    patch = renderer.update([markdown("one\n\ntwo\n\nthree")])
    assert [index for index, _ in patch.changed] == [2]
    assert patch.count == 3


def test_a_replaced_message_loses_its_blocks() -> None:
    renderer = StreamRenderer()
    renderer.update([markdown("one\n\ntwo\n\nthree")])
    patch = renderer.update([text("final")])
    assert patch == Patch([(0, render_exact([text("final")])[0])], 1, shrunk=True)
    assert renderer.update([]) == Patch([], 0, shrunk=True)


def test_a_temporary_segment_comes_and_goes() -> None:
    reader = Reader()
    thinking = text("Thinking...", "status", temporary=True)
    for segments in (
        [thinking],
        [text("answer"), thinking],
        [text("answer")],
        [text("answer"), thinking],
        [text("answer"), markdown("more\n\nand more")],
    ):
        reader.update(segments)
        assert reader.page == render_exact(segments)


def test_a_segment_in_the_middle_may_change() -> None:
    reader = Reader()
    for middle in ("two\n\nb", "two\n\nb\n\nc", "other", "", "two"):
        segments = [text("one"), markdown(middle), text("three")]
        reader.update(segments)
        assert reader.page == render_exact(segments)


def test_a_segment_that_is_followed_shows_what_was_held_back() -> None:
    reader = Reader()
    reader.update([markdown("one\n\n---")])
    assert len(reader.page) == 1
    reader.update([markdown("one\n\n---"), text("two")])
    assert reader.page == render_exact([markdown("one\n\n---"), text("two")])


@pytest.mark.parametrize("change", [{"kind": "error"}, {"temporary": True}, {"type": "markdown"}])
def test_a_segment_that_changes_its_look_is_drawn_anew(change: dict[str, object]) -> None:
    reader = Reader()
    before = Segment("text", "*words*")
    after = Segment(**{"type": "text", "text": "*words*", **change})  # type: ignore[arg-type]
    reader.update([before])
    reader.update([after])
    assert reader.page == render_exact([after])


def test_the_end_changes_nothing_where_streaming_came_to_the_same() -> None:
    renderer = StreamRenderer()
    for words in grown(ANSWER, 7):
        renderer.update([markdown(words)])
    assert renderer.finish([markdown(ANSWER)]) == Patch([], len(renderer.blocks), shrunk=False)
    assert renderer.blocks == render_exact([markdown(ANSWER)])


def test_the_end_shows_what_was_held_back() -> None:
    reader = Reader()
    reader.update([markdown("one\n\n---")])
    reader.finish([markdown("one\n\n---")])
    assert reader.page == render_exact([markdown("one\n\n---")])


def test_output_after_the_end_is_drawn_too() -> None:
    reader = Reader()
    reader.update([markdown("one\n\ntwo")])
    reader.finish([markdown("one\n\ntwo")])
    assert reader.renderer.update([markdown("one\n\ntwo"), text("late")]).changed == [
        (2, render_exact([text("late")])[0])
    ]


@pytest.mark.parametrize(
    ("copies", "compare_every"),
    [
        pytest.param(1, 1, id="every-length"),
        pytest.param(9, 13, id="long"),
        pytest.param(9, 1, id="long-every-length", marks=pytest.mark.soak),
    ],
)
def test_blocks_are_the_exact_ones_at_every_length_of_an_answer(
    copies: int, compare_every: int
) -> None:
    document = ANSWER * copies
    reader = Reader()
    for length, words in enumerate(grown(document)):
        if length % compare_every == 0 or words == document:
            assert reader.stream(words) == reader.page == reader.renderer.blocks
        else:
            reader.update([markdown(words)])
    assert reader.page == render_exact([markdown(document)])


def test_text_blocks_are_the_exact_ones_at_every_length() -> None:
    lines = [f"\x1b[3{n % 8}mline {n}\x1b[0m of https://a.example/{n}" for n in range(220)]
    document = "\n".join(line + "\n" * (n % 7 == 0) for n, line in enumerate(lines))
    reader = Reader()
    for words in grown(document, 37):
        reader.update([text(words, "info")], force=True)
        assert reader.page == render_exact([text(words, "info")])


def test_colours_over_a_whole_stream_of_text_go_on() -> None:
    reader = Reader()
    document = "\x1b[31m" + "red words\n\n" * 1_000
    for words in grown(document, 500):
        reader.update([text(words)])
    assert len(reader.page) > 3
    assert all(Dom(block).one("span").classes == {"ansi-red"} for block in reader.page)


def test_html_is_streamed_as_its_words() -> None:
    reader = Reader()
    for words in grown("<p>one <b>two</b></p> three", 3):
        reader.update([Segment("html", words)])
        assert reader.page == render_exact([Segment("html", words)])


def test_text_with_broken_characters_streams() -> None:
    reader = Reader()
    for words in grown("one\r\n\r\ntwo \x00 \ud83d three\r\n\r\nfour\r\n"):
        reader.update([markdown(words), text(words)])
    assert "two \ufffd \ufffd three" in Dom(reader.page).text


def test_a_reference_defined_later_is_put_into_closed_blocks() -> None:
    reader = Reader()
    document = "see [the page][1]\n\n[no] link\n\nmore\n\n[1]: https://a.example/\n\nend\n\n"
    for words in grown(document):
        reader.update([markdown(words)])
    assert reader.page == render_exact([markdown(document)])
    assert Dom(reader.page).hrefs() == ["https://a.example/"]


def test_a_markdown_text_that_grows_enormous_turns_into_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocks, "MAX_MARKDOWN_CHARS", 100)
    reader = Reader()
    for words in grown("*a*\n\n" * 40, 10):
        reader.update([markdown(words)])
        reader.update([markdown(words)], force=True)
    assert reader.page == render_exact([markdown("*a*\n\n" * 40)])
    assert Dom(reader.page).all("em") == []


def test_a_very_long_open_block_lags_and_can_be_forced() -> None:
    renderer = StreamRenderer()
    words = "word " * OPEN_BLOCK_FREE_CHARS
    lagged = []
    for segment, force in [
        (markdown(words), False),
        (markdown(words + "new"), False),
        (markdown(words + "new"), False),
        (markdown(words + "new"), True),
    ]:
        patch = renderer.update([segment], force=force)
        lagged.append((len(patch.changed), renderer.lagging))
    assert lagged == [(1, False), (0, True), (0, True), (1, False)]
    assert renderer.blocks == render_exact([markdown(words + "new")])


def test_a_lagging_segment_is_shown_in_full_once_another_follows() -> None:
    reader = Reader()
    words = "word " * OPEN_BLOCK_FREE_CHARS
    reader.update([markdown(words)])
    reader.update([markdown(words + "new")])
    reader.update([markdown(words + "new"), text("next")])
    assert reader.page == render_exact([markdown(words + "new"), text("next")])


def test_the_end_shows_what_lagged() -> None:
    reader = Reader()
    words = "word " * OPEN_BLOCK_FREE_CHARS
    reader.update([markdown(words)])
    reader.update([markdown(words + "new")])
    reader.finish([markdown(words + "new")])
    assert reader.page == render_exact([markdown(words + "new")])


def test_many_segments_stream_as_they_should() -> None:
    reader = Reader()
    segments: list[Segment] = []
    for number in range(30):
        segments = [*segments, text(f"line {number}", "info" if number % 3 else None)]
        reader.update(segments)
    assert reader.page == render_exact(segments)
    assert len(wrap_blocks("u", reader.page).split("data-order")) == 31
