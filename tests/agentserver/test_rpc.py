"""The calls of one socket, without a socket."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from chat.agentserver.errors import AgentServerError, ConnectionLost, InvokeFailed
from chat.agentserver.events import Json
from chat.agentserver.frames import Call, Invoke
from chat.agentserver.rpc import Rpc, as_failure


class Peer:
    """An `Rpc` with what it sent, was called with and settled."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.calls: list[tuple[str, Call]] = []
        self.invokes: list[Invoke] = []
        self.settled: list[tuple[Json, AgentServerError | None]] = []
        self.taken = True
        self.rpc = Rpc(
            send=lambda text: self.sent.append(json.loads(text)),
            on_call=lambda channel, call: self.calls.append((channel, call)),
            on_invoke=self.take,
        )

    def take(self, channel: str, invoke: Invoke) -> bool:
        self.invokes.append(invoke)
        return self.taken

    def invoke(self, channel: str = "c", name: str = "n", *args: Json) -> int:
        settle = lambda result, error: self.settled.append((result, error))  # noqa: E731
        return self.rpc.invoke(channel, name, args, settle)[1]

    def receive(self, message: Json, channel: str = "c") -> None:
        self.rpc.receive(json.dumps({"name": channel, "message": message}))

    def answers(self) -> list[dict[str, Any]]:
        return [frame["message"] for frame in self.sent]


def result(call_id: int, value: Json = None) -> Json:
    return {"type": "invokeResult", "callId": call_id, "result": value}


def invoke(call_id: int, name: Json = "n", args: Json = ()) -> Json:
    return {"type": "invoke", "callId": call_id, "name": name, "args": args}


def test_call_ids_count_from_zero_over_all_channels() -> None:
    peer = Peer()
    assert [peer.invoke("a"), peer.invoke("b"), peer.invoke("a")] == [0, 1, 2]


def test_answers_find_their_calls_in_any_order() -> None:
    peer = Peer()
    peer.invoke(), peer.invoke()
    peer.receive(result(1, "second"))
    peer.receive(result(0, "first"))
    assert peer.settled == [("second", None), ("first", None)]


def test_an_answer_on_another_channel_is_no_answer() -> None:
    peer = Peer()
    peer.invoke("a")
    peer.receive(result(0), channel="b")
    assert peer.settled == []


def test_a_second_and_an_unasked_answer_are_ignored() -> None:
    peer = Peer()
    peer.invoke()
    peer.receive(result(0, 1))
    peer.receive(result(0, 2))
    peer.receive(result(7, 3))
    assert peer.settled == [(1, None)]


def test_a_late_answer_to_a_forgotten_call_is_ignored() -> None:
    peer = Peer()
    peer.rpc.forget(("c", peer.invoke()))
    peer.receive(result(0))
    assert peer.settled == []


def test_an_error_arrives_with_all_that_it_says() -> None:
    peer = Peer()
    peer.invoke()
    error = {"error": "e", "cancelled": True, "errorMarkdown": "**e**"}
    peer.receive({"type": "invokeError", "callId": 0} | error)
    [(_, failure)] = peer.settled
    assert isinstance(failure, InvokeFailed)
    assert (failure.text, failure.cancelled, failure.markdown) == ("e", True, "**e**")


def test_an_unsendable_call_is_not_waited_for() -> None:
    peer = Peer()
    with pytest.raises(TypeError):
        peer.invoke("c", "n", object())
    peer.rpc.close(ConnectionLost())
    assert peer.settled == []


def test_all_that_waits_fails_when_the_socket_goes() -> None:
    peer = Peer()
    peer.invoke(), peer.invoke()
    peer.rpc.close(ConnectionLost(1006))
    assert [(str(error), getattr(error, "code", 0)) for _, error in peer.settled] == [
        ("Agent channel disconnected", 1006)
    ] * 2


def test_nothing_is_sent_after_the_socket_has_gone() -> None:
    peer = Peer()
    peer.receive(invoke(1))
    peer.rpc.close(ConnectionLost(1006))
    with pytest.raises(ConnectionLost):
        peer.invoke()
    with pytest.raises(ConnectionLost):
        peer.rpc.call("c", "n", ())
    peer.rpc.answer("c", peer.invokes[0], "late")
    assert peer.sent == []


def test_an_invoke_without_a_handler_is_refused() -> None:
    peer = Peer()
    peer.taken = False
    peer.receive(invoke(4, "question"))
    refusal = {"type": "invokeError", "callId": 4, "error": "No invoke handler question"}
    assert peer.answers() == [refusal]


def test_an_invoke_is_answered_once() -> None:
    peer = Peer()
    peer.receive(invoke(4))
    peer.rpc.answer("c", peer.invokes[0], {"x": 1})
    peer.rpc.answer("c", peer.invokes[0], "again")
    peer.rpc.answer("c", Invoke(4, "n"), "unasked")
    assert peer.answers() == [{"type": "invokeResult", "callId": 4, "result": {"x": 1}}]


def test_a_call_id_may_be_used_again_once_it_is_answered() -> None:
    peer = Peer()
    peer.receive(invoke(4))
    peer.receive(invoke(4))
    peer.rpc.answer("c", peer.invokes[0])
    peer.receive(invoke(4))
    assert len(peer.invokes) == 2


def test_a_channel_made_anew_counts_from_zero_again() -> None:
    """Recording 05c: the first `executeAction` was still open when the agent came back."""
    peer = Peer()
    peer.receive(invoke(0))
    peer.receive(invoke(0), channel="other")
    peer.rpc.reopen("c")
    peer.receive(invoke(0))
    peer.receive(invoke(0), channel="other")
    assert len(peer.invokes) == 3
    peer.rpc.answer("c", peer.invokes[0], "late")
    peer.rpc.answer("c", peer.invokes[2], "new")
    assert [answer["result"] for answer in peer.answers()] == ["new"]


def test_the_same_call_id_on_another_channel_is_another_call() -> None:
    peer = Peer()
    peer.receive(invoke(4), channel="a")
    peer.receive(invoke(4), channel="b")
    assert len(peer.invokes) == 2


def test_our_call_ids_and_those_of_the_other_side_are_independent() -> None:
    peer = Peer()
    peer.invoke()
    peer.receive(invoke(0))
    peer.rpc.answer("c", peer.invokes[0], "ours")
    assert peer.settled == []
    peer.receive(result(0, "theirs"))
    assert peer.settled == [("theirs", None)]


def test_a_handler_that_fails_to_take_an_invoke_still_answers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    peer = Peer()
    peer.invokes = None  # type: ignore[assignment]
    peer.receive(invoke(4))
    refusal = {"type": "invokeError", "callId": 4, "error": "Internal error"}
    assert peer.answers() == [refusal]
    assert "failed to take an invoke" in caplog.text


def test_an_answer_that_cannot_be_sent_can_be_given_again() -> None:
    peer = Peer()
    peer.receive(invoke(4))
    with pytest.raises(TypeError):
        peer.rpc.answer("c", peer.invokes[0], object())
    peer.rpc.answer("c", peer.invokes[0], error=InvokeFailed("no"))
    assert peer.answers() == [{"type": "invokeError", "callId": 4, "error": "no"}]


def test_junk_is_logged_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    peer = Peer()
    with caplog.at_level(logging.DEBUG):
        peer.rpc.receive("{a private word")
    assert "length 15" in caplog.text
    assert "private" not in caplog.text


def test_a_failing_listener_does_not_stop_the_frames_after_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    peer = Peer()
    peer.invoke()
    calls, peer.calls = peer.calls, None  # type: ignore[assignment]
    peer.receive({"type": "call", "callId": 0, "name": "n", "args": []})
    peer.calls = calls
    peer.receive(result(0, "on"))
    assert peer.settled == [("on", None)]
    assert "the connection goes on" in caplog.text


def test_a_chain_of_causes_that_bites_its_tail_has_an_end() -> None:
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert as_failure(first).text == "Internal error"
