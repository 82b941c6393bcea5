"""The HTML that open pages are sent: where it goes, and that nothing hostile gets through."""

from __future__ import annotations

import time

import pytest
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import now

from chat.link.fragments import (
    announce_html,
    block_html,
    bubbles_html,
    changes_html,
    difference_html,
    revision_html,
    state_html,
)
from chat.link.status import Status
from chat.models import LinkState
from chat.transcript.bubbles import BubbleView
from chat.transcript.drawing import BlockPatch, Changes
from chat.transcript.reading import Difference
from tests.link.view import Node, Tree

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def view(**fields: object) -> BubbleView:
    values: dict[str, object] = {
        "uid": "u1",
        "role": "agent",
        "state": "final",
        "order": "000000000001.001",
        "request_id": "r1",
        "source": "test",
        "source_icon": "🤖",
        "html": mark_safe('<div class="block" id="b-u1-0" data-order="000000">text</div>'),
        "note": "",
        "can_retry": False,
        "created_at": now(),
    }
    return BubbleView(**values | fields)  # type: ignore[arg-type]


def nodes(html: str) -> list[Node]:
    return [part for part in Tree(html).top.parts if isinstance(part, Node)]


def test_a_bubble_finds_its_own_place() -> None:
    (article,) = nodes(bubbles_html("key", [view()]))
    assert article.attrs["id"] == "m-u1"
    assert article.attrs["data-order"] == "000000000001.001"
    assert article.attrs["hx-swap-oob"] == "upsert:#transcript"
    assert (article.attrs["data-role"], article.attrs["data-state"]) == ("agent", "final")
    assert article.attrs["data-request"] == "r1"
    assert article.find(id="b-u1-0")[0].text == "text"


@pytest.mark.parametrize("field", ["source", "source_icon", "note", "request_id", "client_id"])
def test_c71_hostile_words_are_only_words(field: str) -> None:
    fields = {"can_retry": True, "note": "why", "state": "failed", field: HOSTILE}
    if field == "client_id":
        fields["role"] = "user"
    (article,) = nodes(bubbles_html("key", [view(**fields)]))
    tags = {node.tag for node in article.find()}
    assert not tags & {"script", "img"}


def test_a_block_goes_into_its_bubble_at_its_place() -> None:
    (block,) = nodes(block_html(BlockPatch("u1", 12, "<p>text</p>")))
    assert block.attrs == {
        "class": "block",
        "id": "b-u1-12",
        "data-order": "000012",
        "hx-swap-oob": "upsert:#b-u1",
    }
    assert block.text == "text"


def test_bubbles_that_are_gone_are_deleted() -> None:
    changes = Changes([view(uid="u2")], [BlockPatch("u1", 0, "<p>")], ["u3"])
    html = changes_html("key", changes)
    assert isinstance(html, SafeString)
    article, block, gone = Tree(html.replace("<p>", "")).top.find()[0], None, None
    assert article.attrs["id"] == "m-u2"
    assert '<i id="m-u3" hx-swap-oob="delete"></i>' in html
    assert html.index("b-u1-0") < html.index("m-u3")
    assert (block, gone) == (None, None)


@pytest.mark.parametrize(("reset", "attribute"), [(True, "1"), (False, "")])
def test_a_difference_names_all_that_a_page_may_keep(reset: bool, attribute: str) -> None:
    difference = Difference(7, reset, [view()], ["u0", "u1"], "000000000001.000")
    manifest, article = nodes(difference_html("key", difference))
    assert manifest.attrs["data-uids"] == "u0 u1"
    assert manifest.attrs["data-first-order"] == "000000000001.000"
    assert manifest.attrs["data-reset"] == attribute
    assert manifest.attrs["hx-swap-oob"] == "manifest:#transcript"
    assert article.attrs["id"] == "m-u1"


def test_the_revision_is_a_number_that_nobody_sees() -> None:
    (span,) = nodes(revision_html(57))
    assert (span.attrs["id"], span.attrs["data-revision"]) == ("revision", "57")
    assert "hidden" in span.attrs


@pytest.mark.parametrize("running", [True, False])
def test_the_state_shows_the_connection_and_stop(running: bool) -> None:
    status = Status(LinkState.LOST, HOSTILE, time.monotonic() + 3.4)
    connection, work = nodes(state_html("key", status, running=running))
    assert (connection.attrs["id"], connection.attrs["data-state"]) == (
        "connection",
        "reconnecting",
    )
    assert connection.attrs["data-retry-in"] == "3"
    assert not {node.tag for node in connection.find()} & {"script", "img"}
    assert work.attrs["data-running"] == ("1" if running else "0")
    assert bool([node for node in work.find() if "data-stop" in node.attrs]) is running


def test_what_is_spoken_is_text() -> None:
    (announce,) = nodes(announce_html(["Replying…", HOSTILE]))
    assert announce.attrs == {"id": "announce", "hx-swap-oob": "innerHTML"}
    assert [node.tag for node in announce.find()] == ["p", "p"]
    assert announce.find()[1].text == HOSTILE


@pytest.mark.parametrize(
    ("status", "state", "text", "retry"),
    [
        (Status(), "connecting", "Connecting…", False),
        (Status(LinkState.JOINING, "the last error"), "connecting", "the last error", False),
        (Status(LinkState.JOINED, "an old error"), "connected", "Connected", False),
        (Status(LinkState.LOST), "reconnecting", "Agent-server unreachable", True),
        (Status(LinkState.STOPPED, "Check token."), "error", "Check token.", True),
        (Status(LinkState.STOPPED), "error", "Not connected", True),
    ],
)
def test_every_state_has_its_words(status: Status, state: str, text: str, retry: bool) -> None:
    page = status.for_page()
    assert (page["state"], page["text"], page["can_retry"]) == (state, text, retry)
    assert page["retry_in"] == 0


def test_no_state_is_without_words() -> None:
    for state in LinkState:
        assert Status(state).for_page()["text"]
    assert Status(LinkState.LOST, "", time.monotonic() - 5).for_page()["retry_in"] == 0
