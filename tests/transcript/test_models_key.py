"""The key of a conversation: what may stand in an address and in the name of a group (C48)."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from chat.models import Conversation, new_key


def faults(key: str) -> set[str]:
    """The fields at fault in a conversation with this key."""
    try:
        Conversation(key=key).clean_fields(exclude=["user"])
    except ValidationError as error:
        return set(error.message_dict)
    return set()


@pytest.mark.parametrize("key", ["a", "A-Z_0.9", "...", ".a", "..a", "-", "x" * 120, "x" * 128])
def test_a_plain_key_is_accepted(key: str) -> None:
    assert faults(key) == set()


@pytest.mark.parametrize(
    "key",
    [
        "",
        ".",
        "..",
        "x" * 129,
        "josé@ex.com",
        "jose@ex.com",
        "josé",
        "a b",
        "a/b",
        "../a",
        "a\n",
        ".\n",
        "\na",
        "a\x00",
        "a%2e",
        "ａ",
        "a?b",
        "a#b",
    ],
)
def test_c48_any_other_key_is_refused(key: str) -> None:
    assert faults(key) == {"key"}


def test_a_new_key_is_accepted_and_not_the_last_one() -> None:
    keys = {new_key() for _ in range(100)}
    assert len(keys) == 100
    assert not any(faults(key) for key in keys)
