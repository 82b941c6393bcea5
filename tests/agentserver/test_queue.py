"""The mirror of the agent-server's queue: the vectors of `queue_mirror`, and a little more."""

from __future__ import annotations

from typing import Any

import pytest

from chat.agentserver.decode import decode_event
from chat.agentserver.errors import ConnectionLost, InvokeFailed
from chat.agentserver.events import ExitRequested, Json, RequestRef
from chat.agentserver.queue import CancelledAll, QueueMirror, cancel_all
from chat.agentserver.values import decode_snapshot
from tests.transcript.vectors import Case, params, table

SERVER_RULE = "rule of the server: tests/localagent"
CLI = "printing of the command line client"
CLI_COMMAND = "a command of the command line client; the site has no /queue"

CASES = table("queue_mirror")
SKIPPED = {
    "own_start_is_quiet": CLI + "; the site tells peers apart by their request ids",
    "inline_flushed_on_complete": CLI + "; the site shows inline text at once",
    "trace_after_output": CLI + "; the site shows no trace id",
    "list_truncated": CLI_COMMAND,
    "list_not_truncated": CLI_COMMAND,
    "no_running_after_cancel": SERVER_RULE,
    **{name: CLI_COMMAND for name in CASES if name.startswith("cmd_")},
    **{name: SERVER_RULE for name in CASES if name.startswith(("srv_", "coalesce_"))},
}


def entry(request_id: str) -> Json:
    return {"requestId": request_id, "state": "running"}


def do(mirror: QueueMirror, step: Json) -> None:
    """One step; the site's current request is the mirror's running one."""
    if step == "start":
        return
    [(name, given)] = step.items()
    if name == "reset":
        mirror.reset(decode_snapshot(given))
        return
    if name == "setCurrentRequest":
        name, given = "requestStarted", [entry(given)]
    event = decode_event("c1", name, given if isinstance(given, list) else [given])
    assert event is not None
    mirror.apply(event)


def check(mirror: QueueMirror, expect: dict[str, Any]) -> None:
    running = mirror.running.request_id if mirror.running else None
    actual: dict[str, Json] = {
        "snapshot": mirror.snapshot,
        "running": running,
        "current": running,
        "queued": [item.request_id for item in mirror.queued],
        "version": mirror.snapshot.version if mirror.snapshot else None,
    }
    count = len(mirror.queued) + (running is not None)
    actual |= {"badgeContains": f"queue: {count}", "badge": f"queue: {count}" if count else ""}
    assert {key: actual[key] for key in expect} == expect


SEQUENCES = {name: case for name, case in CASES.items() if not name.startswith("cancel_all")}
CANCEL_ALL = {name: case for name, case in CASES.items() if name.startswith("cancel_all")}


@pytest.mark.parametrize("case", params(SEQUENCES, SKIPPED))
def test_queue_mirror(case: Case) -> None:
    mirror = QueueMirror()
    for step in case["input"]["steps"]:
        do(mirror, step["do"])
        check(mirror, step["expect"])


@pytest.mark.parametrize("case", params(CANCEL_ALL))
async def test_cancel_all(case: Case) -> None:
    given, expect = case["input"], case["expect"]
    attempts = []

    async def cancel(request_id: str) -> str:
        if given.get("dispatcher", "") is None:
            raise ConnectionLost
        attempts.append(request_id)
        if request_id in given.get("cancelThrowsFor", ()):
            raise InvokeFailed("no")
        return "cancelled_queued"

    done = await cancel_all(decode_snapshot(given["snapshot"]), cancel)
    result = {"cancelled": done.total, "running": done.running, "queued": done.queued}
    assert result == expect["result"]
    if "cancelCommand" in expect:
        assert attempts == expect["cancelCommand"]
    if "attempts" in expect:
        assert len(attempts) == expect["attempts"]


async def test_cancelling_all_of_an_idle_queue_calls_nothing() -> None:
    async def cancel(request_id: str) -> str:
        raise AssertionError(request_id)

    idle = decode_snapshot({"running": None, "queued": [], "paused": False, "version": 1})
    assert await cancel_all(idle, cancel) == CancelledAll()


def test_a_missing_version_is_admitted_and_keeps_the_last_one() -> None:
    mirror = QueueMirror()
    do(mirror, {"reset": {"queued": [], "version": 10}})
    do(mirror, {"requestQueued": [entry("a")]})
    check(mirror, {"queued": ["a"], "version": 10})


def test_a_request_is_never_in_two_places() -> None:
    mirror = QueueMirror()
    do(mirror, {"requestQueued": [entry("a"), 1]})
    do(mirror, {"requestQueued": [entry("a"), 1]})
    check(mirror, {"queued": ["a"]})
    do(mirror, {"requestStarted": [entry("a"), 2]})
    check(mirror, {"queued": [], "running": "a"})


def test_only_what_changes_the_queue_counts() -> None:
    mirror = QueueMirror()
    assert not mirror.apply(ExitRequested(ref=RequestRef()))
    do(mirror, {"reset": {"queued": [], "version": 10}})
    stale = decode_event("c1", "requestQueued", [entry("a"), 9])
    fresh = decode_event("c1", "requestQueued", [entry("a"), 10])
    assert stale is not None
    assert fresh is not None
    assert not mirror.apply(stale)
    assert mirror.apply(fresh)
