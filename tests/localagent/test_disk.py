"""What the embedded server keeps on disk: logs and names survive a restart and a `kill -9`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chat.localagent import LocalAgent
from chat.localagent.displaylog import DisplayLog
from chat.localagent.journal import Journal
from chat.localagent.wire import UNDEFINED

from .client import wire
from .conftest import QUICK


@pytest.fixture
def log(tmp_path: Path) -> DisplayLog:
    return DisplayLog(tmp_path / "log.jsonl")


def _seqs(entries: list[dict[str, Any]]) -> list[int]:
    return [entry["seq"] for entry in entries]


def test_a_new_log_is_empty(log: DisplayLog) -> None:  # display_log.empty
    assert log.after() == []


def test_one_counter_numbers_all_types_from_0(log: DisplayLog) -> None:  # seq_across_types
    for kind in ("set-display", "append-display", "set-display-info", "notify", "user-request"):
        log.add(kind, {})
    assert _seqs(log.after()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (UNDEFINED, [0, 1, 2]),  # after_undefined
        (0, [1, 2]),  # after_0
        (1, [2]),  # after_1_of_3
        (2, []),  # after_last
        (100, []),
        (-1, [0, 1, 2]),  # after_minus_1
        (None, [1, 2]),  # null reads as 0 (WIRE.md 8)
        ("1", [2]),
        ("abc", [0, 1, 2]),
        ([], [0, 1, 2]),
        (True, [2]),
    ],
)
def test_a_cursor_is_exclusive_and_read_as_javascript_reads_it(
    log: DisplayLog, after: object, expected: list[int]
) -> None:
    for _ in range(3):
        log.add("notify", {})
    assert _seqs(log.after(after)) == expected


def test_clearing_restarts_the_counter(log: DisplayLog) -> None:  # clear, clear_resets_seq
    log.add("notify", {})
    log.add("notify", {})
    log.clear()
    assert log.after() == []
    log.add("notify", {})
    assert _seqs(log.after()) == [0]


def test_numbering_goes_on_after_a_restart(tmp_path: Path) -> None:  # resume_seq
    path = tmp_path / "log.jsonl"
    log = DisplayLog(path)
    log.add("notify", {"a": 1})
    log.close()
    again = DisplayLog(path)
    again.add("notify", {"b": 2})
    assert _seqs(again.after()) == [0, 1]
    again.close()


@pytest.mark.parametrize("data", [b"not json", b"not json\n", b"[1, 2]\n", b'"text"\n'])
def test_a_broken_file_counts_as_empty(tmp_path: Path, data: bytes) -> None:  # malformed_file
    path = tmp_path / "log.jsonl"
    path.write_bytes(data)
    assert DisplayLog(path).after() == []


def test_every_entry_is_on_disk_as_soon_as_it_is_logged(tmp_path: Path, log: DisplayLog) -> None:
    log.add("notify", {"text": "lone \ud83d and \x00"})
    written = (tmp_path / "log.jsonl").read_bytes()
    assert json.loads(written)["text"] == "lone \ud83d and \x00"
    assert written.endswith(b"\n")
    log.close()


def test_a_torn_last_line_is_dropped_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = DisplayLog(path)
    log.add("notify", {"n": 1})
    log.add("notify", {"n": 2})
    log.close()
    path.write_bytes(path.read_bytes()[:-5])
    again = DisplayLog(path)
    assert [entry["n"] for entry in again.after()] == [1]
    again.add("notify", {"n": 3})
    again.close()
    assert [entry["n"] for entry in DisplayLog(path).after()] == [1, 3]


def test_a_line_torn_in_the_middle_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"n":1}\n{"n":\n{"n":3}\n')
    assert [entry["n"] for entry in Journal(path).load()] == [1, 3]


def test_removing_what_was_never_written_is_no_error(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.clear()
    journal.remove()
    assert journal.load() == []


async def test_history_holds_what_the_vectors_say(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await client.ask("submitCommand", "@demo text", None, None, "cmd-0", "uuid-456")
        await client.complete("cmd-0")
        asked, info, shown, ended = await client.ask("getDisplayHistory")
        ref = {"requestId": "uuid-456", "connectionId": "0", "clientRequestId": "cmd-0"}
        assert asked["requestId"] == ref  # user_request_full_id
        assert shown["message"]["requestId"] == ref  # pair_by_request_id
        assert (shown["type"], shown["mode"]) == ("append-display", "block")  # append_mode_kept
        assert "actionIndex" not in info  # info_optional
        assert ended["type"] == "command-result"
        assert "traceId" not in ended  # command_result_trace


async def test_a_question_in_the_history_tells_its_type(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await client.submit("@test show ask2")
        await client.event("requestInteraction")
        entry = (await client.ask("getDisplayHistory"))[-1]
        assert entry["interactionType"] == "question"  # question_entry
        assert (entry["type"], entry["choices"]) == ("pending-interaction", ["Yes", "No"])
        assert "defaultId" not in entry
        await client.call("cancelInteraction", entry["interactionId"])
        assert (await client.complete())["lastError"] == "ERROR: Cancelled by client"


async def test_conversations_and_history_survive_a_restart(tmp_path: Path) -> None:
    async with LocalAgent(tmp_path, QUICK).serving() as server, wire(server.url) as client:
        made = await client.server("createConversation", "Kept")
        await client.join(made["conversationId"])
        await client.run("@demo text")
        before = await client.ask("getDisplayHistory")
    async with LocalAgent(tmp_path, QUICK).serving() as server, wire(server.url) as client:
        joined = await client.join(made["conversationId"])
        assert (joined["name"], joined["connectionId"]) == ("Kept", "0")
        assert await client.ask("getDisplayHistory") == before
        assert server.history(made["conversationId"]) == before


async def test_a_deleted_conversation_leaves_no_file(tmp_path: Path) -> None:
    async with LocalAgent(tmp_path, QUICK).serving() as server, wire(server.url) as client:
        await client.run("@demo text")
        await client.server("deleteConversation", client.conversation_id)
        unloaded = await client.server("createConversation", "never joined")
        await client.server("deleteConversation", unloaded["conversationId"])
        assert list((tmp_path / "logs").iterdir()) == []
