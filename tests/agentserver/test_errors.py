"""The texts of errors, and the one text that decides over a transcript."""

from __future__ import annotations

import pytest

from chat.agentserver.errors import (
    ConnectFailed,
    ConnectionLost,
    InvokeFailed,
    InvokeTimedOut,
    TunnelAuthFailed,
    is_conversation_not_found,
)
from tests.transcript.vectors import Case, params, table


@pytest.mark.parametrize("case", params(table("not_found_error")))
def test_only_the_exact_phrase_means_that_the_conversation_is_gone(case: Case) -> None:
    given = case["input"]
    error = given.get("error")
    if isinstance(given.get("errorObject"), dict):
        error = InvokeFailed(given["errorObject"]["message"])
    elif "errorObject" in given:
        error = given["errorObject"]
    assert is_conversation_not_found(error) is case["expect"]


@pytest.mark.parametrize(
    "error",
    [
        ConnectionLost(1006),
        InvokeTimedOut("joinConversation", 30),
        ConnectFailed("Conversation not found"),
        Exception("Conversation not found"),
        {"message": "Conversation not found"},
        5,
    ],
)
def test_nothing_but_a_refusal_means_that_the_conversation_is_gone(error: object) -> None:
    assert not is_conversation_not_found(error)


def test_a_null_id_is_not_found_either() -> None:
    assert is_conversation_not_found(InvokeFailed("Conversation not found: null"))


def test_the_texts_that_others_rely_on() -> None:
    assert str(ConnectionLost()) == "Agent channel disconnected"
    assert str(TunnelAuthFailed()) == "Tunnel auth failed. Check token."
    assert "joinConversation within 0.5 s" in str(InvokeTimedOut("joinConversation", 0.5))
