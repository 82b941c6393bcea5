"""The embedded server answers a recorded client as the real server did, frame for frame."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from chat.localagent import LocalAgent, Settings
from chat.localagent.conversation import Conversation
from tests.shared import SHARED, requires_shared, wire_files

from .client import eventually
from .replay import Replay, read_recording

pytestmark = requires_shared

SETTINGS = Settings(pace=0.1, word_delay_s=0.001)
AT_HALF_TIME = replace(SETTINGS, pace=0.5)
"""For recordings whose commands must still run when the next frame is sent."""
AT_DOUBLE_TIME = replace(SETTINGS, pace=2)
UNHURRIED = replace(SETTINGS, pace=10)


@dataclass(frozen=True, slots=True)
class Case:
    """How to replay one recording."""

    file: str
    settings: Settings = SETTINGS
    until: str = ""
    by_request: bool = False


CASES = [
    Case("01-join-default"),
    Case("02-create-join-help-leave-delete"),
    Case("03-bogus-conversation"),
    Case("04-list-rename-find-collisions"),
    Case("05-client-agent"),
    Case("05b-client-agent-cancel-slow"),
    Case("05c-agent-locks-results", AT_HALF_TIME),
    # then come the commands of an agent and `@config`, which this server has not
    Case("05d-agent-full-interface", until="@androidDevice ping"),
    Case("06-register-collisions"),
    Case("06b-agent-leave-rejoin"),
    Case("06d-broken-registrations"),
    Case("07-two-connections"),
    Case("07b-two-conversations-delete", AT_HALF_TIME, by_request=True),
    Case("07c-filter-prompts-gone-originator", AT_HALF_TIME),
    Case("08-history-seq-rejoin"),
    Case("08b-question-with-requestid"),
    Case("09-queue-cancel", AT_DOUBLE_TIME),
    Case("09b-queue-full", UNHURRIED),
    Case("10-prompts"),
    # then two clients race
    Case("10d-question-details", until="both clients answer at once"),
    # then come commands that need a model
    Case("11-manage-conversation", until="@conversation index"),
    Case("12-misc-methods"),
    # then comes plain text to a broken model, and frames that were not recorded for their size:
    # test_malformed.py has the rest
    Case("13-malformed", until="missing args to submitCommand"),
    Case("13b-transport"),
    Case("16-clear-exit"),
    # then come commands of the real server that this one has not
    Case("17-displays", until="@help conversation"),
    Case("19-ordering", by_request=True),
]
WITH_A_WAIT = {"10b-no-clients-grace", "10c-grace-with-requestid", "18-idle-eviction"}
RESTARTED = {"16b-shutdown"}
NOT_REPLAYED = {
    "06c-agent-half-open": "a proxy swallowed frames for 50 s; test_lifecycle.py has the reaping",
    "14-restart": "signals from outside; test_process.py sends them to a real process",
    "15-chat-llm": "the model's own chunks; test_responder.py compares the rest",
    "15b-unknown-reasoning": "an answer of the reasoning model",
    "15c-unknown": "an answer of the reasoning model",
    "15d-model-unreachable": "there is no model to reach",
}


def test_every_recording_is_replayed_or_has_a_reason() -> None:
    replayed = {case.file for case in CASES} | WITH_A_WAIT | RESTARTED
    assert replayed | NOT_REPLAYED.keys() == {path.stem for path in wire_files()}
    assert not replayed & NOT_REPLAYED.keys()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file)
async def test_the_recorded_frames_come_in_the_recorded_order(case: Case, tmp_path: Path) -> None:
    entries = read_recording(_path(case.file), case.until)
    async with LocalAgent(tmp_path, case.settings).serving() as server:
        replay = Replay(server.url, entries, by_request=case.by_request)
        assert await replay.run() == []


async def test_a_popup_question_outlives_the_grace_and_the_queue_does_not(tmp_path: Path) -> None:
    settings = replace(SETTINGS, grace_s=0.05)
    await _replay_with_a_wait(
        "10b-no-clients-grace", settings, tmp_path, lambda c: c is not None and not c.queue.queued
    )


async def test_a_question_of_a_command_gets_its_default_after_the_grace(tmp_path: Path) -> None:
    settings = replace(SETTINGS, grace_s=0.05)
    await _replay_with_a_wait(
        "10c-grace-with-requestid", settings, tmp_path, lambda c: c is not None and c.queue.idle
    )


async def test_nothing_tells_a_client_that_a_conversation_was_unloaded(tmp_path: Path) -> None:
    settings = replace(SETTINGS, idle_s=0.05)
    await _replay_with_a_wait("18-idle-eviction", settings, tmp_path, lambda c: c is None)


async def test_a_shutdown_kills_every_socket_without_an_answer(tmp_path: Path) -> None:
    servers: list[LocalAgent] = []

    async def serve_again_and_again() -> None:
        port = 0
        while True:
            async with LocalAgent(tmp_path, SETTINGS).serving(port) as server:
                port = server.port
                servers.append(server)
                await server.ended

    async def serving() -> None:
        await eventually(lambda: bool(servers) and servers[-1].listening)

    supervisor = asyncio.create_task(serve_again_and_again())
    await serving()
    entries = read_recording(_path("16b-shutdown"))
    assert await Replay(servers[0].url, entries, before_open=serving).run() == []
    assert len(servers) >= 2
    supervisor.cancel()
    await asyncio.wait([supervisor])


async def _replay_with_a_wait(
    file: str, settings: Settings, data: Path, reached: Callable[[Conversation | None], bool]
) -> None:
    """Replay a recording of two connections, the second of which waits for a state."""
    async with LocalAgent(data, settings).serving() as server:
        opened = 0

        async def before_open() -> None:
            nonlocal opened
            opened += 1
            if opened > 1:
                (record,) = [r for r in server.catalogue if r.name != "default"]
                await eventually(lambda: reached(server.loaded(record.id)))

        replay = Replay(server.url, read_recording(_path(file)), before_open=before_open)
        assert await replay.run() == []
        assert opened == 2


def _path(name: str) -> Path:
    return SHARED / "wire" / f"{name}.jsonl"
