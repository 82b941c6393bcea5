"""Calls as events, for input of every shape that the wire may bring."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agentserver.decode import decode_event
from chat.agentserver.events import (
    AgentMessage,
    AppendDisplay,
    ChoiceRequested,
    CommandComplete,
    DisplayInfo,
    DynamicDisplay,
    InteractionRequested,
    Json,
    Notification,
    QueueChanged,
    QueueSnapshot,
    RequestCancelled,
    RequestQueued,
    RequestRef,
    SetDisplay,
    UnknownEvent,
    UserRequest,
)
from chat.agentserver.values import decode_entry, decode_ref, integer
from tests.agentserver.test_frames import unhurried, values
from tests.agentserver.test_recordings import EVENT_TYPES

NAMES = [*EVENT_TYPES, "notify", "question", ""]


def test_all_events_of_the_wire_are_known() -> None:
    unknown = [n for n in EVENT_TYPES if isinstance(decode_event("c1", n, ({},)), UnknownEvent)]
    assert unknown == []


@unhurried
@given(st.sampled_from(NAMES), st.lists(values, max_size=8))
def test_no_arguments_make_decoding_fail(name: str, args: list[Json]) -> None:
    event = decode_event("c1", name, args)
    assert event is None or event.conversation_id == "c1"


@unhurried
@given(st.sampled_from(NAMES), st.lists(st.none(), max_size=8))
def test_null_arguments_read_as_absent_ones(name: str, args: list[None]) -> None:
    if name in EVENT_TYPES:
        assert decode_event("c1", name, args) == decode_event("c1", name, ())


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("setDisplay", ["text"]),
        ("appendDisplay", []),
        ("setDynamicDisplay", [{"requestId": "r"}, "a", 0, "", 100]),
        ("requestChoice", [{"requestId": "r"}, None, "yesNo"]),
        ("requestForm", [{"requestId": "r"}, "choice", "no form"]),
        ("requestForm", [{"requestId": "r"}, "", {}]),
        ("requestInteraction", [{"type": "question"}]),
        ("requestInteraction", ["i1"]),
        ("interactionResolved", [5]),
        ("interactionCancelled", []),
        ("takeAction", [{"requestId": "r"}, None, {}]),
        ("requestQueued", [{"requestId": ""}, 1]),
        ("requestStarted", ["r", 1]),
        ("requestCancelled", [None, "user", 1]),
        ("queueStateChanged", [[]]),
    ],
)
def test_what_lacks_its_meaning_is_no_event(name: str, args: list[Json]) -> None:
    assert decode_event("c1", name, args) is None


def test_a_name_of_the_future_keeps_its_arguments() -> None:
    event = decode_event("c1", "sing", ["la", 5])
    assert event == UnknownEvent(conversation_id="c1", name="sing", args=("la", 5))


def test_a_display_keeps_its_content_as_it_came() -> None:
    content = {"type": "structured", "blocks": [], "alternates": [{"type": "text"}]}
    message = {"message": content, "requestId": {"requestId": "r"}, "source": "chat"}
    message |= {"sourceIcon": "💬", "actionIndex": 0, "kind": "toast"}
    expected = AgentMessage(content, RequestRef("r"), "chat", "💬", 0, "toast")
    assert decode_event("c1", "setDisplay", [message]) == SetDisplay(
        conversation_id="c1", message=expected
    )


def test_a_display_without_a_mode_is_a_block() -> None:
    event = decode_event("c1", "appendDisplay", [{"message": "x"}])
    assert isinstance(event, AppendDisplay)
    assert event.mode == "block"
    assert event.message.ref == RequestRef()


def test_a_mode_of_the_future_is_kept() -> None:
    event = decode_event("c1", "appendDisplay", [{"message": "x"}, "sideways"])
    assert isinstance(event, AppendDisplay)
    assert event.mode == "sideways"


def test_output_of_an_agent_on_its_own_is_keyed_by_the_agent() -> None:
    ref = decode_ref({"requestId": "", "clientRequestId": "agent-timer-1"})
    assert ref.key == "agent-timer-1"
    assert decode_ref({"requestId": "", "clientRequestId": "cmd-0"}).key is None


@pytest.mark.parametrize("first", [{"requestId": "r", "connectionId": "0"}, "r"])
def test_a_completion_names_its_request_by_object_or_text(first: Json) -> None:
    event = decode_event("c1", "notify", [first, "commandComplete", {"result": None}, "system"])
    assert isinstance(event, CommandComplete)
    assert (event.ref.key, event.result) == ("r", None)
    assert (event.last_error, event.cancelled, event.failed) == (None, False, False)


@pytest.mark.parametrize("data", [None, "x", {}, {"result": "x"}])
def test_a_completion_without_a_result_is_a_completion(data: Json) -> None:
    event = decode_event("c1", "notify", ["r", "commandComplete", data])
    assert isinstance(event, CommandComplete)
    assert event.result is None


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ({"metrics": {}}, False),
        ({"lastError": ""}, True),
        ({"disposition": {"status": "notHandled", "reason": "unknown"}}, True),
        ({"disposition": {"status": "failed"}, "cancelled": True}, True),
        ({"disposition": {"status": "handled"}}, False),
        ({"disposition": "handled"}, False),
    ],
)
def test_a_completion_tells_failure_by_error_or_disposition(result: Json, failed: bool) -> None:
    event = decode_event("c1", "notify", ["r", "commandComplete", {"result": result}])
    assert isinstance(event, CommandComplete)
    assert event.failed is failed


def test_other_notices_keep_what_they_belong_to() -> None:
    by_text = decode_event("c1", "notify", ["n1", "info", "note", "device", None, None])
    by_ref = decode_event("c1", "notify", [{"requestId": "r"}, "toast", {"a": 1}, "device"])
    by_none = decode_event("c1", "notify", [None, "statusNotice", {}, "agent-server"])
    assert by_text == Notification(
        conversation_id="c1", name="info", data="note", source="device", notification_id="n1"
    )
    assert isinstance(by_ref, Notification)
    assert isinstance(by_none, Notification)
    assert (by_ref.ref, by_ref.notification_id) == (RequestRef("r"), None)
    assert (by_none.ref, by_none.notification_id) == (None, None)


def test_a_choice_and_a_form_are_told_apart_by_the_form() -> None:
    ref = {"requestId": "r"}
    args = [ref, "x", "pickRemember", "Which?", ["a", 5, "b"], "test", "Always"]
    choice = decode_event("c1", "requestChoice", args)
    form = decode_event("c1", "requestForm", [ref, "y", {"message": "A form", "fields": []}, "t"])
    assert isinstance(choice, ChoiceRequested)
    assert isinstance(form, ChoiceRequested)
    # The answer is an index: what stands between must not move the rest.
    assert (choice.choices, choice.checkbox_label, choice.form) == (("a", "", "b"), "Always", None)
    assert (form.type, form.message, form.source) == ("form", "A form", "t")


def test_a_question_keeps_all_that_was_asked() -> None:
    raw = {"interactionId": "i", "type": "question", "message": "?", "choices": ["y"], "more": 1}
    event = decode_event("c1", "requestInteraction", [raw])
    assert isinstance(event, InteractionRequested)
    assert (event.ref, event.default_id, event.raw) == (None, None, raw)


def test_a_request_may_be_cancelled_without_a_reason_or_version() -> None:
    event = decode_event("c1", "requestCancelled", ["r"])
    assert event == RequestCancelled(conversation_id="c1", request_id="r")


def test_a_queue_leaves_out_the_entries_it_cannot_read() -> None:
    event = decode_event("c1", "queueStateChanged", [{"running": 5, "queued": [{}, None]}])
    assert event == QueueChanged(conversation_id="c1", snapshot=QueueSnapshot())


def test_an_entry_of_the_queue_is_read_whole() -> None:
    raw = {
        "requestId": "r",
        "text": "hi",
        "state": "running",
        "originatorConnectionId": "2",
        "clientRequestId": {"any": "json"},
        "submittedAt": 1796030858121,
        "startedAt": 1796030858122.0,
        "attachmentCount": 2,
        "blockedOn": "interaction",
    }
    entry = decode_entry(raw)
    assert entry is not None
    assert (entry.text, entry.state, entry.originator_connection_id) == ("hi", "running", "2")
    assert (entry.submitted_at_ms, entry.started_at_ms) == (1796030858121, 1796030858122)
    assert (entry.client_request_id, entry.attachment_count) == ({"any": "json"}, 2)
    assert entry.blocked_on == "interaction"
    assert isinstance(decode_event("c1", "requestQueued", [raw]), RequestQueued)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0), (3.0, 3), (3.5, None), (True, None), ("3", None), (float("inf"), None)],
)
def test_a_whole_number_is_one_however_it_is_written(value: Json, expected: int | None) -> None:
    assert integer(value) == expected


def test_an_unusable_refresh_time_stops_the_refreshing() -> None:
    event = decode_event("c1", "setDynamicDisplay", [{}, "list", None, "d1", "soon"])
    assert isinstance(event, DynamicDisplay)
    assert (event.next_refresh_ms, event.action_index) == (-1, None)


def test_lone_surrogates_and_nul_pass_through() -> None:
    event = decode_event("c1", "setUserRequest", [{"requestId": "r"}, "a\ud83d\x00b"])
    assert isinstance(event, UserRequest)
    assert event.text == "a\ud83d\x00b"


def test_the_action_of_a_display_info_is_kept_whatever_it_is() -> None:
    for action in (["request"], {"actionName": "x"}, None):
        event = decode_event("c1", "setDisplayInfo", [{"requestId": "r"}, "chat", 0, action])
        assert isinstance(event, DisplayInfo)
        assert (event.source, event.action_index, event.action) == ("chat", 0, action)
