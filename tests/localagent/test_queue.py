"""One queue per conversation: order, cancel, promote, limits, and the throttled snapshots.

The names in brackets are those of the shared vectors `queue_mirror`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from chat.localagent import LocalAgent, Settings
from chat.localagent.queue import Coalescer, QueueFull, Request, RequestQueue
from tests.shared import load_vectors, requires_shared

from .client import wire

TESTED_HERE = {
    "coalesce_last_wins",
    "coalesce_two_windows",
    "coalesce_flush",
    "coalesce_flush_idle",
    "coalesce_after_flush",
    "srv_fifo",
    "srv_cross_cancel",
    "srv_late_joiner",
    "srv_attachments_redacted",
    "srv_event_order",
    "srv_promote_front",
    "srv_promote_noop",
    "srv_promote_refused",
    "srv_cancel_unknown",
    "srv_full",
    "srv_interrupt_front",
    "srv_interrupt_events",
    "srv_interrupt_full",
    "srv_interrupt_stopped",
    "srv_cancel_running_no_snapshot",
    "srv_cancel_settled",
    "srv_blocked_flag",
    "srv_null_tolerant",
}
NO_TEST = {"srv_cancel_reason_text": "an ended request is kept nowhere, so its state has no reader"}


@requires_shared
def test_every_server_row_of_the_vectors_has_a_test_or_a_reason() -> None:
    ids = {case["id"].removeprefix("queue_mirror.") for case in load_vectors("queue_mirror")}
    rows = {name for name in ids if name.startswith(("srv_", "coalesce_"))}
    assert rows == TESTED_HERE | NO_TEST.keys()


class Window:
    """A coalescer with a clock that the test turns."""

    def __init__(self) -> None:
        self.version = 0
        self.emitted: list[int] = []
        self._due: Callable[[], None] | None = None
        self.coalescer = Coalescer(self._emit, self._later)

    def change(self, *versions: int) -> None:
        for self.version in versions:
            self.coalescer.touch()

    def advance(self) -> None:
        """The window's time has passed."""
        due, self._due = self._due, None
        if due is not None:
            due()

    def _emit(self) -> None:
        self.emitted.append(self.version)

    def _later(self, send: Callable[[], None]) -> Callable[[], None]:
        self._due = send

        def cancel() -> None:
            self._due = None

        return cancel


def test_only_the_newest_snapshot_of_a_window_is_sent() -> None:  # coalesce_last_wins
    window = Window()
    window.change(*range(1, 21))
    assert window.emitted == []
    window.advance()
    assert window.emitted == [20]


def test_each_window_sends_one_snapshot() -> None:  # coalesce_two_windows
    window = Window()
    window.change(1, 2)
    window.advance()
    window.change(3, 4)
    window.advance()
    assert window.emitted == [2, 4]


def test_a_flush_sends_at_once_and_closes_the_window() -> None:  # coalesce_flush
    window = Window()
    window.change(1, 2)
    window.coalescer.flush()
    assert window.emitted == [2]
    window.advance()
    assert window.emitted == [2]


def test_a_flush_of_nothing_is_silent() -> None:  # coalesce_flush_idle
    window = Window()
    window.coalescer.flush()
    assert window.emitted == []


def test_a_new_window_opens_after_a_flush() -> None:  # coalesce_after_flush
    window = Window()
    window.change(1)
    window.coalescer.flush()
    window.change(2)
    window.advance()
    assert window.emitted == [1, 2]


def _queue(*names: str, running: str | None = None, depth: int = 100) -> RequestQueue:
    queue = RequestQueue(depth, lambda: None)
    for name in ((running,) if running else ()) + names:
        queue.add(_request(name))
    if running:
        queue.start_next()
    return queue


def _request(name: str) -> Request:
    return Request(name, "0", {}, [], request_id=name)


def _queued(queue: RequestQueue) -> list[str]:
    return [request.request_id for request in queue.queued]


def test_promote_moves_to_the_head_and_announces_it_once() -> None:  # srv_promote_front
    changes: list[int] = []
    queue = _queue("b", "c", running="a")
    queue._on_change = lambda: changes.append(queue.version)
    assert queue.promote("c") is True
    assert _queued(queue) == ["c", "b"]
    assert queue.running is not None
    assert queue.running.request_id == "a"
    assert len(changes) == 1


def test_promoting_the_next_one_is_still_true() -> None:  # srv_promote_noop
    queue = _queue("b", "c", running="a")
    assert queue.promote("b") is True
    assert _queued(queue) == ["b", "c"]


@pytest.mark.parametrize("request_id", ["a", "zz", None, 5])
def test_promoting_the_running_or_an_unknown_one_is_refused(request_id: object) -> None:
    queue = _queue("b", "c", running="a")  # srv_promote_refused
    assert queue.promote(request_id) is False


def test_there_is_nothing_to_cancel_of_an_unknown_request() -> None:  # srv_cancel_unknown
    assert _queue("b", running="a").cancel_queued("zz") is False


@pytest.mark.parametrize("at_head", [False, True])
def test_a_full_queue_takes_nothing_more(at_head: bool) -> None:  # srv_full, srv_interrupt_full
    queue = _queue("b", running="a", depth=2)
    with pytest.raises(QueueFull):
        queue.add(_request("c"), at_head=at_head)


def test_an_interrupt_waits_at_the_head() -> None:  # srv_interrupt_front
    queue = _queue("a", "b")
    queue.add(_request("interrupt"), at_head=True)
    assert _queued(queue) == ["interrupt", "a", "b"]


def test_cancelling_the_running_one_brings_no_snapshot_by_itself() -> None:
    changes: list[int] = []  # srv_cancel_running_no_snapshot
    queue = _queue(running="a")
    queue._on_change = lambda: changes.append(queue.version)
    assert queue.mark_cancelled() is True
    assert changes == []


def test_what_has_ended_cannot_be_cancelled() -> None:  # srv_cancel_settled
    queue = _queue(running="a")
    queue.finish()
    assert queue.mark_cancelled() is False


def test_a_request_is_blocked_while_any_of_its_questions_is_open() -> None:  # srv_blocked_flag
    queue = _queue(running="a")
    assert queue.running is not None
    queue.mark_blocked(queue.running, blocked=True)
    queue.mark_blocked(queue.running, blocked=True)
    queue.mark_blocked(queue.running, blocked=False)
    assert queue.snapshot()["running"]["blockedOn"] == "interaction"
    queue.mark_blocked(queue.running, blocked=False)
    assert "blockedOn" not in queue.snapshot()["running"]


async def test_commands_of_two_clients_run_in_the_order_of_submitting(agent: LocalAgent) -> None:
    async with wire(agent.url) as a, wire(agent.url) as b:  # srv_fifo
        for client, name in ((a, "A1"), (b, "B1"), (a, "A2"), (b, "B2")):
            await client.submit("@slow 1", name)
        await a.complete("B2")
        assert [args[1] for args in a.calls("setUserRequest")] == ["@slow 1"] * 4
        started = [args[0]["clientRequestId"] for args in a.calls("requestStarted")]
        assert started == ["A1", "B1", "A2", "B2"]


async def test_anyone_may_cancel_and_all_are_told(tmp_path: Path) -> None:  # srv_cross_cancel
    server = LocalAgent(tmp_path)
    async with server.serving(), wire(server.url) as a, wire(server.url) as b:
        await a.submit("@slow 60", "run")
        queued = await a.submit("@demo text", "wait")
        answer = await b.ask("cancelCommand", queued["requestId"])
        assert answer["kind"] == "cancelled_queued"
        for client in (a, b):
            cancelled = await client.event("requestCancelled")
            assert cancelled[:2] == [queued["requestId"], "user"]


async def test_a_request_cancelled_while_queued_leaves_no_trace(tmp_path: Path) -> None:
    async with LocalAgent(tmp_path).serving() as server, wire(server.url) as client:
        running = await client.submit("@slow 60", "run")
        queued = await client.submit("@demo text", "wait")
        await client.ask("cancelCommand", queued["requestId"])
        await client.ask("cancelCommand", running["requestId"])
        await client.complete("run")
        history = await client.ask("getDisplayHistory")
        assert queued["requestId"] not in str(history)


async def test_a_late_joiner_starts_from_the_snapshot(tmp_path: Path) -> None:  # srv_late_joiner
    async with LocalAgent(tmp_path).serving() as server, wire(server.url) as a:
        await a.submit("@slow 60", "run")
        await a.submit("@demo text", "wait")
        async with wire(server.url, join=False) as b:
            snapshot = (await b.join())["queueSnapshot"]
            assert snapshot["running"]["clientRequestId"] == "run"
            assert [e["clientRequestId"] for e in snapshot["queued"]] == ["wait"]


async def test_peers_learn_only_how_many_attachments_there_were(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:  # srv_attachments_redacted
        await client.ask("submitCommand", "@demo text", ["data:image/png;base64,AAAA"])
        (entry, _version) = await client.event("requestQueued")
        assert entry["attachmentCount"] == 1
        assert "AAAA" not in str(client.frames)


async def test_a_cancel_is_told_before_the_next_start(tmp_path: Path) -> None:  # srv_event_order
    async with LocalAgent(tmp_path).serving() as server, wire(server.url) as client:
        first = await client.submit("@slow 60", "first")
        await client.submit("@demo text", "second")
        await client.ask("cancelCommand", first["requestId"])
        await client.complete("second")
        names = [n for n in client.names() if n.startswith("request")]
        assert names == [
            "requestQueued",
            "requestStarted",
            "requestQueued",
            "requestCancelled",
            "requestStarted",
        ]


async def test_an_interrupt_on_an_idle_queue_runs_at_once(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:  # srv_interrupt_events
        answer = await client.ask("interrupt", "@demo text", None, None, "c")
        assert answer["ok"] is True
        await client.complete()
        snapshot = await client.event("queueStateChanged")
        assert snapshot[0]["running"] is None
        assert client.names().index("requestQueued") < client.names().index("requestStarted")


async def test_a_stopping_server_takes_no_more_work(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:  # srv_interrupt_stopped
        conversation = agent.loaded(client.conversation_id)
        assert conversation is not None
        conversation.stopping = True
        for method in ("submitCommand", "interrupt"):
            assert await client.ask(method, "@demo text") == {
                "ok": False,
                "error": "server_stopping",
            }


async def test_null_attachments_and_options_are_accepted(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:  # srv_null_tolerant
        assert (await client.ask("submitCommand", "@demo text", None, None))["ok"] is True


async def test_a_full_queue_is_a_result_and_not_an_error(tmp_path: Path) -> None:
    settings = Settings(max_depth=1)
    async with LocalAgent(tmp_path, settings).serving() as server, wire(server.url) as client:
        await client.submit("@slow 60")
        answer = await client.ask("submitCommand", "@demo text")
        assert answer == {"ok": False, "error": "queue_full", "maxDepth": 1}
        assert server.submits == 1
