"""What pages are told of a request: whole bubbles, single blocks, bubbles that are gone."""

from __future__ import annotations

import pytest

from chat.display import content
from chat.models import Message, RequestState, Role
from chat.transcript import painting
from chat.transcript.drawing import USER_STEP, Changes
from chat.transcript.reading import StoredRequest
from tests.transcript.told import (
    append,
    cancelled,
    complete,
    display,
    drawn,
    info,
    queued,
    row,
    started,
    tell,
    transcript,
)


def states(changes: Changes) -> list[tuple[int, str]]:
    return [(bubble.step, bubble.state) for bubble in changes.bubbles]


def test_a_new_bubble_comes_whole_and_then_only_blocks() -> None:
    live = tell(transcript(row("r", "q")), started("r"), append("r", "one"))
    request = live.requests["r"]
    first = drawn(request)
    assert states(first) == [(0, "final"), (1, "streaming")]
    assert not first.blocks
    tell(live, append("r", " two"))
    second = drawn(request)
    assert not second.bubbles
    assert [(patch.index, patch.uid) for patch in second.blocks] == [(0, request.uid(1))]
    assert "one two" in second.blocks[0].html
    assert not drawn(request)


def test_a_change_of_the_name_draws_the_bubble_whole() -> None:
    live = tell(transcript(row("r")), started("r"), append("r", "one", source="dispatcher"))
    drawn(live.requests["r"])
    tell(live, append("r", " two", source="chat"))
    (bubble,) = drawn(live.requests["r"]).bubbles
    assert bubble.source == "chat"


def test_naming_one_bubble_leaves_the_others_alone() -> None:
    live = tell(transcript(row("r")), started("r"))
    tell(live, append("r", "one", "step"), append("r", "two", "block"))
    drawn(live.requests["r"])
    tell(live, info("r", "list", "list", "add"))
    assert states(drawn(live.requests["r"])) == [(2, "streaming")]


def test_the_earlier_bubble_is_done_when_a_new_one_opens() -> None:
    live = tell(transcript(row("r")), started("r"), append("r", "one", "step"))
    request = live.requests["r"]
    drawn(request)
    request.take_rows()
    tell(live, append("r", "two", "step"))
    assert states(drawn(request)) == [(1, "final"), (2, "streaming")]
    _, rows = request.take_rows()
    assert {message.step: message.state for message in rows} == {1: "final", 2: "streaming"}


def test_a_bubble_that_shows_nothing_any_more_is_gone() -> None:
    live = tell(transcript(row("r")), started("r"), append("r", "Thinking", "temporary"))
    request = live.requests["r"]
    drawn(request)
    tell(live, complete("r"))
    changes = drawn(request)
    assert changes.gone == [request.uid(1)]
    assert not changes.bubbles
    _, rows = request.take_rows()
    assert [(message.step, message.html) for message in rows if message.step] == [(1, "")]
    assert not drawn(request)


def test_a_bubble_that_comes_back_is_drawn_whole() -> None:
    live = tell(transcript(row("r")), started("r"), append("r", "one"), display("r", ""))
    request = live.requests["r"]
    drawn(request)
    tell(live, append("r", "again"))
    assert states(drawn(request)) == [(1, "streaming")]


def test_a_failure_without_an_answer_stands_on_the_question() -> None:
    live = tell(transcript(row("r", "q")), queued("r"), cancelled("r", "no_clients"))
    (bubble,) = drawn(live.requests["r"]).bubbles
    assert (bubble.step, bubble.state, bubble.can_retry) == (0, "cancelled", True)
    assert bubble.note == "Cancelled: nobody was connected"


def test_a_failure_stands_on_the_last_bubble_that_shows_anything() -> None:
    live = tell(transcript(row("r", "q")), started("r"), append("r", "part", "block"))
    request = live.requests["r"]
    tell(live, append("r", "   ", "step"), cancelled("r"))
    shown = {bubble.step: bubble for bubble in drawn(request).bubbles}
    assert (shown[1].state, shown[1].note, shown[1].can_retry) == ("cancelled", "Stopped", True)
    assert (shown[0].note, shown[0].can_retry) == ("", False)


def test_what_was_retried_offers_no_retry() -> None:
    live = tell(transcript(row("r", "q")), started("r"), append("r", "part"), cancelled("r"))
    request = live.requests["r"]
    drawn(request)
    request.retried = True
    request.redraw(1)
    (bubble,) = drawn(request).bubbles
    assert not bubble.can_retry


@pytest.mark.parametrize("step", [USER_STEP, 1, 7])
def test_a_bubble_can_be_drawn_again_even_one_that_is_not_there(step: int) -> None:
    live = tell(transcript(row("r", "q")), started("r"), append("r", "text"))
    request = live.requests["r"]
    drawn(request)
    request.redraw(step)
    assert [bubble.step for bubble in drawn(request).bubbles] == ([step] if step < 7 else [])


def test_a_request_without_a_place_is_rendered_for_its_rows_and_shown_later() -> None:
    live = tell(transcript(), started("x", "theirs"), append("x", "text"))
    request = live.requests["x"]
    assert not painting.draw(request)
    _, rows = request.take_rows()
    assert "text" in next(message.html for message in rows if message.step == 1)
    request.seq = 3
    assert states(painting.draw(request)) == [(0, "final"), (1, "streaming")]


def test_a_finished_request_says_when_its_exact_render_differs() -> None:
    live = tell(transcript(row("r")), started("r"))
    request = live.requests["r"]
    tell(live, append("r", {"type": "markdown", "content": "a\n***"}))
    drawn(request)
    request.take_rows()
    tell(live, complete("r"))
    (bubble,) = drawn(request).bubbles
    assert bubble.state == "final"
    assert "<hr>" in bubble.html
    _, rows = request.take_rows()
    assert "<hr>" in rows[0].html


def stored(*texts: str, state: RequestState = RequestState.RUNNING) -> StoredRequest:
    item = row("r", "q", state=state)
    messages = [
        Message(
            uid=f"u{step}",
            role=Role.AGENT,
            step=step,
            source_icon="🤖",
            segments=[{"type": "markdown", "text": text, "inline": True}],
        )
        for step, text in enumerate(texts, 1)
    ]
    return StoredRequest(item.request, messages)


def test_a_request_goes_on_where_the_last_owner_left_it() -> None:
    live = transcript(stored("one", "two"))
    request = live.requests["r"]
    assert not request.dirty_for_save
    changes = drawn(request)
    assert states(changes) == [(1, "final"), (2, "streaming")]
    tell(live, append("r", {"type": "markdown", "content": " and more"}, source=""))
    assert "two and more" in drawn(request).blocks[0].html


def test_a_finished_request_that_is_taken_up_again_is_not_spoken_again() -> None:
    assert transcript(stored("one", state=RequestState.FINAL)).requests["r"].announced


def test_heavy_renders_are_made_apart_and_used() -> None:
    live = tell(transcript(row("r")), started("r"))
    request = live.requests["r"]
    long = {"type": "markdown", "content": "word " * 2000}
    tell(live, append("r", long))
    (render,) = painting.heavy(request, 5_000)
    render.run()
    tell(live, append("r", {"type": "markdown", "content": "more " * 200 + "and the end"}))
    request.seq = 1
    (bubble,) = [b for b in painting.draw(request, [render]).bubbles if b.step == 1]
    assert "and the end" in bubble.html
    assert not painting.heavy(request, 5_000)
    tell(live, complete("r"))
    (render,) = painting.heavy(request, 5_000)
    render.run()
    (bubble,) = [b for b in painting.draw(request, [render]).bubbles if b.step == 1]
    assert "and the end" in bubble.html


def test_a_heavy_render_of_a_text_that_has_changed_is_not_used() -> None:
    live = tell(transcript(row("r")), started("r"), append("r", "x" * 6_000), complete("r"))
    request = live.requests["r"]
    (render,) = painting.heavy(request, 5_000)
    render.run()
    tell(live, append("r", "late", "block"))
    request.seq = 1
    (bubble,) = [b for b in painting.draw(request, [render]).bubbles if b.step == 1]
    assert "late" in bubble.html


def test_two_heavy_renders_of_one_growing_text_both_count() -> None:
    live = tell(transcript(row("r")), started("r"), append("r", "start\n\n"))
    request = live.requests["r"]
    drawn(request)
    renders = []
    for part in ("a", "b"):
        tell(live, append("r", {"type": "text", "content": f"{part * 6_000}\n\n"}))
        (render,) = painting.heavy(request, 5_000)
        render.run()
        renders.append(render)
    html = "".join(patch.html for patch in painting.draw(request, renders).blocks)
    assert "a" * 1_000 in html
    assert "b" * 1_000 in html


def test_the_held_back_end_of_a_long_block_is_drawn_when_nothing_more_comes() -> None:
    live = tell(transcript(row("r")), started("r"))
    request = live.requests["r"]
    tell(live, append("r", {"type": "markdown", "content": "```\n" + "line\n" * 2_000}))
    drawn(request)
    tell(live, append("r", {"type": "markdown", "content": "the end"}))
    drawn(request)
    assert live.requests["r"].lagging
    request.catch_up()
    assert "the end" in "".join(patch.html for patch in drawn(request).blocks)
    request.catch_up()
    assert not request.dirty


def test_rows_that_were_not_written_are_due_again() -> None:
    live = tell(transcript(row("r")), started("r"), append("r", "text"))
    request = live.requests["r"]
    drawn(request)
    _, rows = request.take_rows()
    assert not request.dirty_for_save
    request.put_back(rows)
    assert [message.step for message in request.take_rows()[1]] == [
        message.step for message in rows
    ]


def test_the_words_of_an_answer_are_parsed_once_and_not_at_every_save(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[str] = []

    def parse(source: str) -> str:
        parsed.append(source)
        return source.replace("*", "")

    monkeypatch.setattr(content, "markdown_to_text", parse)
    live = tell(transcript(row("r")), started("r"))
    request = live.requests["r"]
    for number in range(5):
        tell(live, append("r", {"type": "markdown", "content": f"*{number}* "}))
        drawn(request)
        (message,) = [row for row in request.take_rows()[1] if row.role == Role.AGENT]
        assert message.text.endswith(f"*{number}*")
    assert not parsed
    tell(live, complete("r"))
    drawn(request)
    (message,) = [row for row in request.take_rows()[1] if row.role == Role.AGENT]
    assert message.text == request.spoken() == "0 1 2 3 4 "
    assert parsed == ["*0* *1* *2* *3* *4* "]


def test_the_words_of_a_step_are_saved_without_markup_when_the_next_one_opens() -> None:
    live = tell(transcript(row("r")), started("r"))
    request = live.requests["r"]
    tell(live, append("r", {"type": "markdown", "content": "**one**"}, "step"))
    drawn(request)
    request.take_rows()
    tell(live, append("r", "two", "block"))
    drawn(request)
    texts = {row.step: row.text for row in request.take_rows()[1] if row.role == Role.AGENT}
    assert texts == {1: "one", 2: "two"}
