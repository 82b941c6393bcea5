"""A typed answer to a question is read leniently, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from chat.transcript.answers import parse_choice_index, parse_yes_no
from tests.transcript.vectors import Case, params, table


@pytest.mark.parametrize("case", params(table("confirmation")))
def test_the_confirmation_vectors_hold(case: Case) -> None:
    given = case["input"]
    answer: bool | int | None
    if given["parse"] == "yesNo":
        answer = parse_yes_no(given["text"])
    else:
        answer = parse_choice_index(given["text"], given["optionCount"])
    assert answer is case["expect"] or (answer, type(answer)) == (case["expect"], int)


@pytest.mark.parametrize("text", ["", " ", "yes please", "nope", "1", "ja"])
def test_other_words_are_no_yes_and_no_no(text: str) -> None:
    assert parse_yes_no(text) is None


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", "1 2", "²", "٣", "1e3", "9" * 5000])
def test_what_is_not_a_plain_number_is_no_choice(text: str) -> None:
    assert parse_choice_index(text, 10**9) is None


def test_there_is_no_choice_among_none() -> None:
    assert parse_choice_index("1", 0) is None
