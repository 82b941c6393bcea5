"""Which messages are kept: the newest, none too old, and never half of what belongs together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from chat.transcript.retention import Row, to_prune

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MONTH = timedelta(days=30)


def row(
    pk: int,
    *,
    seq: int | None = None,
    step: int = 0,
    age: timedelta = timedelta(0),
    request: int | None = None,
    question: bool = False,
    live: bool = False,
) -> Row:
    return Row(pk, pk if seq is None else seq, step, NOW - age, request, question, live)


def prune(rows: list[Row], max_messages: int = 200, max_age: timedelta = MONTH) -> list[int]:
    return to_prune(rows, now=NOW, max_messages=max_messages, max_age=max_age)


def test_nothing_is_cut_within_the_limits() -> None:
    assert prune([row(pk) for pk in range(200)]) == []


def test_the_oldest_are_cut_over_the_limit() -> None:
    assert prune([row(pk) for pk in range(203)]) == [0, 1, 2]


def test_newest_means_by_place_and_not_by_the_clock() -> None:
    rows = [row(1, age=timedelta(0)), row(2, age=timedelta(days=2))]
    assert prune(rows, max_messages=1) == [1]


def test_a_reply_is_newer_than_its_question_whatever_came_between() -> None:
    rows = [row(1, seq=1), row(2, seq=2), row(3, seq=1, step=1)]
    assert prune(rows, max_messages=1) == [1, 3]


def test_what_is_too_old_is_cut() -> None:
    rows = [row(1, age=MONTH + timedelta(seconds=1)), row(2, age=MONTH), row(3)]
    assert prune(rows) == [1]


def test_a_time_in_the_future_counts_as_now() -> None:
    rows = [row(1, age=timedelta(days=-400)), row(2)]
    assert prune(rows) == []
    assert prune(rows, max_age=timedelta(0)) == []


def test_a_live_message_is_never_cut() -> None:
    rows = [row(1, age=3 * MONTH, live=True), row(2), row(3)]
    assert prune(rows, max_messages=1) == [2]


def test_the_question_of_a_kept_answer_is_never_cut() -> None:
    question = row(1, seq=1, request=7, question=True, age=2 * MONTH)
    answer = row(2, seq=1, step=1, request=7)
    assert prune([question, answer, row(3)], max_messages=2) == []


def test_the_question_goes_with_its_answer() -> None:
    question = row(1, seq=1, request=7, question=True)
    answer = row(2, seq=1, step=1, request=7)
    assert prune([question, answer, row(3)], max_messages=1) == [1, 2]


def test_the_question_of_another_answer_is_cut() -> None:
    rows = [row(1, request=7, question=True), row(2, request=8), row(3)]
    assert prune(rows, max_messages=2) == [1]


def test_an_earlier_step_of_a_kept_answer_may_go() -> None:
    steps = [row(pk, seq=1, step=pk, request=7) for pk in (1, 2, 3)]
    assert prune(steps, max_messages=2) == [1]


def test_a_conversation_may_keep_nothing() -> None:
    assert prune([row(1), row(2)], max_messages=0) == [1, 2]


_rows = st.lists(
    st.builds(
        row,
        st.integers(),
        seq=st.integers(1, 9),
        step=st.integers(0, 3),
        age=st.timedeltas(timedelta(days=-60), timedelta(days=60)),
        request=st.none() | st.integers(1, 5),
        question=st.booleans(),
        live=st.booleans(),
    ),
    unique_by=lambda row: row.id,
    max_size=25,
)


@given(_rows, st.integers(0, 12))
def test_pruning_twice_changes_nothing(rows: list[Row], limit: int) -> None:
    gone = set(prune(rows, max_messages=limit))
    assert prune([row for row in rows if row.id not in gone], max_messages=limit) == []


@given(_rows, st.integers(0, 12))
def test_every_cut_has_its_cause(rows: list[Row], limit: int) -> None:
    gone = set(prune(rows, max_messages=limit))
    newest = sorted(rows, key=lambda row: (row.seq, row.step), reverse=True)[:limit]
    for cut in (row for row in rows if row.id in gone):
        assert not cut.live
        assert cut not in newest or NOW - cut.created_at > MONTH
