"""The parts that are pushed: the same markup as in the page, and a place to go to."""

from __future__ import annotations

import pytest
from django.utils.safestring import mark_safe

from tests.page.render import KEY, Elements, bubble, page, part, text_of


def test_a_pushed_message_finds_its_own_place() -> None:
    (tag, article), *_ = Elements(part("message", b=bubble())).found
    assert tag == "article"
    assert article["hx-swap-oob"] == "upsert:#transcript"
    assert (article["id"], article["data-order"]) == ("m-u1", "000000000001.001")


def test_a_message_in_the_page_is_the_pushed_one_without_the_place() -> None:
    pushed = part("message", b=bubble()).strip()
    assert pushed.replace(' hx-swap-oob="upsert:#transcript"', "") in page(bubbles=[bubble()])


def test_a_push_needs_no_request_and_so_holds_no_token() -> None:
    retry = bubble(state="failed", can_retry=True)
    for markup in (
        part("message", b=retry),
        part("running", running=True),
        part("connection", connection={"state": "error", "can_retry": True}),
    ):
        assert "<form" in markup
        assert "csrfmiddlewaretoken" not in markup


@pytest.mark.parametrize("state", ["pending", "queued", "streaming", "final", "failed"])
def test_a_message_has_the_same_three_parts_whatever_its_state(state: str) -> None:
    found = [tag for tag, _ in Elements(part("message", b=bubble(state=state))).found]
    assert [tag for tag in found if tag in {"header", "div", "footer"}] == [
        "header",
        "div",
        "footer",
    ]


def test_a_body_without_blocks_is_really_empty() -> None:
    assert 'aria-busy="true"></div>' in part("message", b=bubble(state="streaming"))


def test_only_a_streaming_message_is_busy() -> None:
    assert "aria-busy" not in part("message", b=bubble())


def test_htmx_leaves_what_an_agent_shows_alone() -> None:
    body = Elements(part("message", b=bubble(html=mark_safe("<p>x</p>")))).by_id("b-u1")
    assert "hx-disable" in body


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("pending", "Sending…"),
        ("queued", "Waiting its turn"),
        ("cancelled", "Stopped"),
        ("interrupted", "Interrupted"),
        ("failed", "Failed"),
    ],
)
def test_a_state_is_said_in_words(state: str, said: str) -> None:
    assert said in text_of(part("message", b=bubble(state=state)))


def test_a_note_of_the_server_goes_before_the_common_word() -> None:
    words = text_of(part("message", b=bubble(state="cancelled", note="Nobody was connected")))
    assert "Nobody was connected" in words
    assert "Stopped" not in words


def test_retry_names_the_request() -> None:
    markup = part("message", b=bubble(state="interrupted", can_retry=True))
    assert f'action="/c/{KEY}/retry/"' in markup
    assert 'name="request" value="r1"' in markup


def test_stop_is_there_while_something_runs_and_only_then() -> None:
    running, resting = part("running", running=True), part("running", running=False)
    assert 'data-running="1"' in running
    assert "data-stop" in running
    assert 'data-running="0"' in resting
    assert "data-stop" not in resting


def test_a_count_down_says_which_link_is_down() -> None:
    link = {"state": "reconnecting", "text": "", "retry_in": 3, "can_retry": True}
    markup = part("connection", connection=link)
    assert 'data-retry-in="3"' in markup
    assert text_of(markup) == "Agent-server unreachable. Reconnecting in 3 s Retry now"


def test_a_part_that_replaces_another_is_marked_so() -> None:
    for markup in (
        part("revision", revision=9),
        part("composer_error", error="Too long."),
        part("connection", connection={"state": "connected"}),
        part("running", running=False),
    ):
        assert 'hx-swap-oob="true"' in markup
