"""The vectors of `message_keying`: what output belongs to is told by `RequestRef.key` alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from chat.agentserver.decode import decode_event
from chat.agentserver.events import Json, SetDisplay, UserRequest
from chat.agentserver.log import decode_log
from chat.agentserver.values import decode_ref
from tests.transcript.vectors import Case, params, table

OWN_ID = (
    "our request id is client id and server id at once: no output waits for the server's id, and "
    "no bubble is ever found by a client id"
)
CASES = table("message_keying")
BY_CLIENT_ID = (
    "promote_on_first_output",
    "lookup_without_client_id",
    "two_commands",
    "replayed_client_id_collision",
    "mixed",
)
SKIPPED = dict.fromkeys(BY_CLIENT_ID, OWN_ID)
KEYS = {name: case for name, case in CASES.items() if case["input"].get("op") == "key"}
SEQUENCES = {name: case for name, case in CASES.items() if name not in KEYS}


@pytest.mark.parametrize("case", params(KEYS))
def test_the_key_is_the_servers_id(case: Case) -> None:
    assert decode_ref(case["input"]["requestId"]).key == case["expect"]["key"]


class Groups:
    """Requests by their key, each with the text that came first."""

    def __init__(self) -> None:
        self.texts: dict[str | None, str] = {}
        self.lost: list[str | None] = []

    def take(self, event: Any) -> None:
        if isinstance(event, UserRequest):
            self.texts.setdefault(event.ref.key, event.text)
        elif isinstance(event, SetDisplay) and event.message.ref.key not in self.texts:
            self.lost.append(event.message.ref.key)


@pytest.mark.parametrize("case", params(SEQUENCES, SKIPPED))
def test_requests_are_grouped_by_their_key(case: Case) -> None:
    groups = Groups()
    for step in case["input"]["steps"]:
        if "history" in step["do"]:
            for logged in decode_log("c1", map(log_entry, step["do"]["history"])):
                groups.take(logged.event)
        else:
            groups.take(decode_event("c1", "setUserRequest", step["do"]["setUserRequest"]))
        check(groups, step["expect"])


def log_entry(line: str) -> Json:
    """An entry of the display log, from the short form of the table."""
    match = re.fullmatch(r"(\S+) (\S+)(?: '(.*)')?", line)
    assert match is not None
    kind, request_id, command = match.groups()
    ref = {"requestId": request_id}
    return {
        "type": kind,
        "requestId": ref,
        "command": command,
        "message": {"message": "x", "requestId": ref},
    }


def check(groups: Groups, expect: dict[str, Any]) -> None:
    shapes = {list: list(groups.texts), dict: groups.texts, int: len(groups.texts)}
    if "groups" in expect:
        assert shapes[type(expect["groups"])] == expect["groups"]
    if "label" in expect:
        assert list(groups.texts.values()) == [expect["label"]]
    assert groups.lost == []
