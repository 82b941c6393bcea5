"""One request's output becomes bubbles: what joins, what replaces, what opens a new one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.display.content import Segment
from chat.transcript import thread as thread_module
from chat.transcript.thread import Bubble, Thread, action_label, ephemeral, icon_for, parse_mode

ACTION = {"schemaName": "list", "actionName": "addItems", "parameters": {"items": ["milk"]}}


def text(content: str, kind: str | None = None) -> Segment:
    return Segment("text", content, kind)


def shown(thread: Thread) -> list[list[str]]:
    """The texts of each bubble."""
    return [[segment.text for segment in bubble.segments] for bubble in thread.bubbles]


def started(*texts: str, mode: str = "block") -> Thread:
    thread = Thread()
    for content in texts:
        thread.append(text(content), mode)
    return thread


def test_the_first_output_makes_the_bubble() -> None:
    thread = Thread()
    assert thread.append(text("a"), "block", "list", "📝") == {1}
    (bubble,) = thread.bubbles
    assert (bubble.step, bubble.source, bubble.source_icon, bubble.sealed) == (
        1,
        "list",
        "📝",
        False,
    )


def test_inline_pieces_of_one_kind_and_type_join() -> None:
    assert shown(started("Hel", "lo", " ", "world", mode="inline")) == [["Hello world"]]


def test_inline_pieces_of_another_kind_or_type_do_not_join() -> None:
    thread = started("a", mode="inline")
    thread.append(text("b", "error"), "inline")
    thread.append(Segment("markdown", "c", "error"), "inline")
    thread.append(Segment("markdown", "d", "error"), "inline")
    assert shown(thread) == [["a", "b", "cd"]]


def test_inline_blocks_are_whole_and_do_not_join() -> None:
    thread = started()
    for _ in range(2):
        thread.append(Segment("structured", "{}"), "inline")
    assert shown(thread) == [["{}", "{}"]]


def test_an_inline_piece_after_a_replace_starts_a_section() -> None:
    thread = Thread()
    thread.set_display(text("a"))
    thread.append(text("b"), "inline")
    assert shown(thread) == [["a", "b"]]


def test_a_temporary_ends_a_run_of_inline_pieces() -> None:
    thread = started("a", mode="inline")
    thread.append(text("..."), "temporary")
    thread.append(text("b"), "inline")
    thread.append(text("c"), "inline")
    assert shown(thread) == [["a", "bc"]]


def test_the_segment_that_was_given_is_not_changed() -> None:
    given = text("a")
    thread = Thread()
    thread.append(given, "inline")
    thread.append(text("b"), "inline")
    assert given == text("a")


def test_c13_the_final_display_replaces_what_streamed() -> None:
    thread = started("A", "B", mode="inline")
    assert thread.set_display(text("AB")) == {1}
    assert shown(thread) == [["AB"]]


def test_an_update_without_content_does_nothing() -> None:
    thread = started("a", mode="temporary")
    for mode in ("block", "inline", "temporary", "step", None):
        assert thread.append(None, mode) == set()
    assert shown(thread) == [["a"]]
    assert not thread.bubbles[0].sealed


def test_an_update_without_content_makes_no_bubble() -> None:
    thread = Thread()
    assert thread.append(None, "block") == set()
    assert thread.set_display(None) == set()
    assert thread.bubbles == []


def test_an_empty_display_clears_the_bubble_but_keeps_its_place() -> None:
    thread = started("a")
    assert thread.set_display(None) == {1}
    assert thread.set_display(None) == set()
    assert thread.bubbles[0].empty
    thread.append(text("b"), "block")
    assert shown(thread) == [["b"]]


def test_every_update_takes_the_temporary_away() -> None:
    for mode in ("block", "inline", "temporary", "step"):
        thread = started("...", mode="temporary")
        thread.append(text("a"), mode)
        assert shown(thread) == [["a"]]


def test_a_step_is_a_bubble_of_its_own() -> None:
    thread = started("a", mode="inline")
    assert thread.append(text("thought"), "step") == {1, 2}
    assert thread.append(text("b"), "inline") == {3}
    assert shown(thread) == [["a"], ["thought"], ["b"]]
    assert [bubble.sealed for bubble in thread.bubbles] == [True, True, False]


def test_a_bubble_that_held_only_a_temporary_is_reused_by_a_step() -> None:
    thread = started("...", mode="temporary")
    assert thread.append(text("thought"), "step") == {1}
    assert shown(thread) == [["thought"]]


def test_a_step_takes_the_temporary_of_the_bubble_that_it_closes() -> None:
    thread = started("a")
    thread.append(text("..."), "temporary")
    assert thread.append(text("thought"), "step") == {1, 2}
    assert shown(thread) == [["a"], ["thought"]]


def test_a_display_after_a_step_leaves_the_step_alone() -> None:
    thread = started("one", "two", mode="step")
    thread.append(text("stre"), "inline")
    thread.set_display(text("answer"))
    assert shown(thread) == [["one"], ["two"], ["answer"]]


def test_a_step_is_named_by_who_reasons() -> None:
    thread = Thread()
    thread.set_info("list", ACTION)
    thread.append(text("a"), "step", "dispatcher.reasoningAction.copilot", "✨")
    assert thread.bubbles[0].label == "dispatcher.reasoningAction.copilot"
    assert thread.bubbles[0].source_icon == "✨"


def test_a_runaway_request_has_an_end_of_its_bubbles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_module, "MAX_STEPS", 2)
    thread = started("1", "2", "3", mode="step")
    thread.append(text("4"), "block")
    assert shown(thread) == [["1"], ["2", "3", "4"]]


def test_completion_takes_a_last_temporary_away_and_seals() -> None:
    thread = started("a")
    thread.append(text("..."), "temporary")
    assert thread.complete() == {1}
    assert shown(thread) == [["a"]]
    assert thread.bubbles[0].sealed
    assert thread.complete() == set()


def test_completion_makes_no_bubble() -> None:
    thread = Thread()
    assert thread.complete() == set()
    assert thread.bubbles == []


def test_a_bubble_that_held_only_a_temporary_ends_up_empty() -> None:
    thread = started("...", mode="temporary")
    thread.complete()
    assert thread.bubbles[0].empty


def test_late_output_goes_to_the_last_bubble() -> None:
    thread = started("thought", mode="step")
    thread.append(text("answer"), "block")
    thread.complete()
    assert thread.append(text("late"), "block") == {2}
    assert thread.set_display(text("later")) == {2}
    assert shown(thread) == [["thought"], ["later"]]
    assert all(bubble.sealed for bubble in thread.bubbles)


def test_late_output_wipes_no_closed_step() -> None:
    thread = started("thought", mode="step")
    thread.complete()
    assert thread.set_display(text("late")) == {2}
    assert thread.append(text("more"), "block") == {2}
    assert shown(thread) == [["thought"], ["late", "more"]]
    assert all(bubble.sealed for bubble in thread.bubbles)


def test_a_late_temporary_goes_at_the_next_completion() -> None:
    thread = started("a")
    thread.complete()
    thread.append(text("..."), "temporary")
    assert thread.complete() == {1}
    assert shown(thread) == [["a"]]


def test_output_without_a_bubble_after_completion_makes_a_sealed_one() -> None:
    thread = Thread()
    thread.complete()
    assert thread.append(text("late"), "block") == {1}
    assert thread.bubbles[0].sealed


def test_info_that_comes_first_names_the_bubble() -> None:
    thread = Thread()
    assert thread.set_info("list", ACTION) == set()
    thread.append(text("a"), "block", "list", "")
    assert thread.bubbles[0].label == "list.addItems"
    assert thread.bubbles[0].source_icon == "📝"


def test_info_that_comes_later_renames_the_open_bubble_only() -> None:
    thread = Thread()
    thread.append(text("thought"), "step", "dispatcher")
    thread.append(text("a"), "block", "dispatcher")
    assert thread.set_info("list", ACTION) == {2}
    assert thread.set_info("list", ACTION) == set()
    assert [bubble.label for bubble in thread.bubbles] == ["dispatcher", "list.addItems"]


def test_info_after_a_step_names_the_next_bubble() -> None:
    thread = Thread()
    thread.append(text("thought"), "step", "dispatcher")
    assert thread.set_info("list", ACTION) == set()
    thread.append(text("a"), "block", "list")
    thread.append(text("b"), "step", "list")
    thread.append(text("c"), "block", "player")
    assert [bubble.label for bubble in thread.bubbles] == [
        "dispatcher",
        "list.addItems",
        "list",
        "player",
    ]


def test_info_after_the_end_renames_nothing() -> None:
    thread = Thread()
    thread.append(text("a"), "block", "dispatcher")
    thread.complete()
    assert thread.set_info("list", ACTION) == set()
    assert thread.bubbles[0].label == "dispatcher"


def test_an_action_says_nothing_about_another_agent() -> None:
    thread = Thread()
    thread.set_info("list", ACTION)
    thread.append(text("a"), "block", "list")
    thread.set_info("list", ["request"])
    assert thread.bubbles[0].label == "list.addItems"
    thread.set_info("player", None)
    assert (thread.bubbles[0].label, thread.bubbles[0].source_icon) == ("player", "🎧")


def test_an_action_stays_the_name_when_another_source_speaks() -> None:
    thread = Thread()
    thread.set_info("list", ACTION)
    thread.append(text("a"), "block", "dispatcher")
    assert thread.bubbles[0].label == "list.addItems"


def test_output_without_a_source_keeps_the_name_and_the_icon() -> None:
    thread = Thread()
    thread.append(text("a"), "block", "test", "➕")
    thread.append(text("b"), "block")
    thread.append(text("c"), "block", "test")
    assert (thread.bubbles[0].label, thread.bubbles[0].source_icon) == ("test", "➕")


def test_another_speaker_brings_its_own_icon() -> None:
    thread = Thread()
    thread.append(text("a"), "temporary", "dispatcher", "✨")
    thread.append(text("b"), "block", "weather.forecast")
    assert (thread.bubbles[0].label, thread.bubbles[0].source_icon) == ("weather.forecast", "⛅")


def test_a_hostile_name_fits_into_its_row() -> None:
    thread = Thread()
    thread.append(text("a"), "block", "x\x00\ud83d" * 400, "\ud83d" * 99)
    bubble = thread.bubbles[0]
    assert len(bubble.label) <= 200
    assert len(bubble.source_icon) <= 32
    assert "\x00" not in bubble.label
    bubble.label.encode()
    bubble.source_icon.encode()


@pytest.mark.parametrize(
    "action",
    [
        None,
        [],
        {},
        ["request"],
        ["show"],
        "list",
        7,
        {"schemaName": "list"},
        {"schemaName": "list", "actionName": ""},
        {"schemaName": ["list"], "actionName": "addItems"},
        [ACTION],
    ],
)
def test_what_is_no_action_has_no_label(action: object) -> None:
    assert action_label(action) == ""


@pytest.mark.parametrize(
    ("source", "sent", "icon"),
    [
        ("calendar", "", "📅"),
        ("Calendar.findEvents", "", "📅"),
        ("calendar", "➕", "➕"),
        ("nobody", "", "🤖"),
        ("", "", "🤖"),
    ],
)
def test_the_icon_is_the_sent_one_or_that_of_the_source(source: str, sent: str, icon: str) -> None:
    assert icon_for(source, sent) == icon


@pytest.mark.parametrize("mode", [None, "", "Block", "sideways", 7, ["inline"], {}])
def test_an_unknown_mode_is_block(mode: object) -> None:
    assert parse_mode(mode) == "block"


@pytest.mark.parametrize("kind", ["toast", "inline", " Toast "])
def test_toasts_and_inline_rows_stay_out_of_the_bubble(kind: str) -> None:
    assert ephemeral(kind)


@pytest.mark.parametrize("kind", [None, "", "bubble", "error"])
def test_everything_else_goes_into_the_bubble(kind: str | None) -> None:
    assert not ephemeral(kind)


@pytest.mark.parametrize("content", ["", "\n\n", " \t\n"])
def test_a_bubble_without_a_visible_letter_is_empty(content: str) -> None:
    assert Bubble(step=1, segments=[text(content)]).empty


def test_an_unfinished_thread_goes_on_where_it_was() -> None:
    before = Thread()
    before.append(text("thought"), "step", "dispatcher.reasoningAction.copilot", "✨")
    before.append(text("Hel"), "inline", "chat", "💬")
    after = Thread.from_rows(json.loads(json.dumps(before.to_rows())), completed=False)
    after.append(text("lo"), "inline", "chat")
    assert shown(after) == [["thought"], ["Hello"]]
    assert [bubble.label for bubble in after.bubbles] == [
        "dispatcher.reasoningAction.copilot",
        "chat",
    ]
    assert [bubble.source_icon for bubble in after.bubbles] == ["✨", "💬"]
    assert [bubble.sealed for bubble in after.bubbles] == [True, False]


def test_a_restored_action_stays_the_name() -> None:
    before = Thread()
    before.set_info("list", ACTION)
    before.append(text("a"), "block", "list")
    after = Thread.from_rows(before.to_rows(), completed=False)
    after.append(text("b"), "block", "list")
    assert after.bubbles[0].label == "list.addItems"


def test_a_restored_closed_step_stays_closed() -> None:
    before = started("thought", mode="step")
    after = Thread.from_rows(before.to_rows(), completed=False)
    after.append(text("a"), "block")
    assert shown(after) == [["thought"], ["a"]]


def test_rows_may_come_in_any_order_and_with_gaps() -> None:
    rows = started("1", "2", "3", "4", mode="step").to_rows()
    after = Thread.from_rows([rows[3], rows[0]], completed=False)
    assert shown(after) == [["1"], ["4"]]
    assert after.append(text("5"), "block") == {5}


def test_what_is_restored_of_a_finished_request_is_sealed() -> None:
    before = started("a")
    before.append(text("..."), "temporary")
    after = Thread.from_rows(before.to_rows(), completed=True)
    assert shown(after) == [["a"]]
    assert after.bubbles[0].sealed
    assert after.completed


def test_no_rows_are_no_bubbles() -> None:
    assert Thread.from_rows([], completed=True).bubbles == []


_updates = st.tuples(
    st.sampled_from(["block", "inline", "temporary", "step", "replace"]),
    st.none() | st.builds(text, st.sampled_from("ab"), st.sampled_from([None, "info"])),
)


@given(st.lists(_updates, max_size=30))
def test_steps_count_up_and_only_the_last_is_open(
    updates: list[tuple[str, Segment | None]],
) -> None:
    thread = Thread()
    for mode, segment in updates:
        before = shown(thread)
        replaces = mode == "replace"
        changed = thread.set_display(segment) if replaces else thread.append(segment, mode)
        after = shown(thread)
        for step, texts in enumerate(after, start=1):
            unchanged = step <= len(before) and before[step - 1] == texts
            assert unchanged or step in changed
    assert [bubble.step for bubble in thread.bubbles] == list(range(1, len(thread.bubbles) + 1))
    assert all(bubble.sealed for bubble in thread.bubbles[:-1])
    thread.complete()
    assert not any(part.temporary for bubble in thread.bubbles for part in bubble.segments)
