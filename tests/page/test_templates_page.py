"""The page as HTML: the hooks that scripts rely on, no script needed, nothing inline."""

from __future__ import annotations

import json
import re

import pytest
from django.template.loader import render_to_string

from tests.page.render import KEY, Elements, bubble, page, text_of


def test_the_page_has_every_hook() -> None:
    found = Elements(page(bubbles=[bubble(role="user", state="pending")], running=True))
    assert [a["data-conversation"] for a in found.with_attribute("data-conversation")] == [KEY]
    assert found.by_id("transcript")["role"] == "log"
    (message,) = found.with_attribute("data-message")
    assert (message["data-role"], message["data-state"], message["data-request"]) == (
        "user",
        "pending",
        "r1",
    )
    assert len(found.with_attribute("data-body")) == 1
    assert ("textarea", "text") in [(tag, a.get("name")) for tag, a in found.found]
    assert found.by_id("composer")["action"] == f"/c/{KEY}/messages/"
    assert found.by_id("connection")["data-state"] == "connected"
    assert [a["type"] for a in found.with_attribute("data-stop")] == ["submit"]
    assert [a["type"] for a in found.with_attribute("data-clear")] == ["submit"]


def test_every_form_works_without_script() -> None:
    markup = page(
        running=True,
        bubbles=[bubble(state="failed", can_retry=True)],
        connection={"state": "error", "text": "No.", "retry_in": None, "can_retry": True},
    )
    forms = re.findall(r"<form\b.*?</form>", markup, re.DOTALL)
    assert len(forms) == 8  # retry link, clear, log out, retry message, 2 hints, composer, stop
    for form in forms:
        assert 'method="post"' in form
        assert re.search(r'action="/[^"]+"', form)
        assert 'name="csrfmiddlewaretoken"' in form
        assert '<button type="submit"' in form


def test_no_form_stands_in_another() -> None:
    depth = 0
    for tag in re.findall(r"</?form\b", page(running=True, bubbles=[bubble(can_retry=True)])):
        depth += 1 if tag == "<form" else -1
        assert depth in (0, 1)
    assert depth == 0


def test_nothing_inline_that_a_strict_policy_refuses() -> None:
    for _, attributes in Elements(page(bubbles=[bubble()], running=True)).found:
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]


def test_every_script_waits_for_the_page_and_has_the_nonce() -> None:
    scripts = [a for tag, a in Elements(page()).found if tag == "script"]
    assert len(scripts) == 7
    for script in scripts:
        assert script["src"]
        assert "defer" in script
        assert script["nonce"] == "nonce-1"


def test_htmx_neither_evaluates_nor_styles_and_shows_the_errors_of_the_server() -> None:
    (content,) = [a["content"] for _, a in Elements(page()).found if a.get("name") == "htmx-config"]
    assert content is not None
    config = json.loads(content)
    assert config["allowEval"] is False
    assert config["includeIndicatorStyles"] is False
    assert config["historyEnabled"] is False
    assert {"code": "4..|503|507", "swap": True, "error": True} in config["responseHandling"]


@pytest.mark.parametrize("hostile", ["</textarea><script>x</script>", '"><img src=x onerror=x>'])
def test_c71_a_hostile_name_draft_or_error_stays_text(hostile: str) -> None:
    markup = page(
        draft=hostile,
        error=hostile,
        connection={"state": "error", "text": hostile, "retry_in": None, "can_retry": False},
        bubbles=[bubble(source=hostile, note=hostile, request_id=hostile)],
    )
    assert hostile not in markup
    assert "<img" not in markup


def test_a_draft_that_begins_with_an_empty_line_keeps_it() -> None:
    (draft,) = re.findall(r"<textarea[^>]*>(.*?)</textarea>", page(draft="\nsecond"), re.DOTALL)
    assert draft == "\n\nsecond"  # a browser drops the first line end of a field


def test_the_page_tells_the_retention_rule() -> None:
    assert "Keeps the newest 200 messages, none older than 30 days." in text_of(page())


def test_the_transcript_of_an_empty_conversation_is_really_empty() -> None:
    assert re.search(r'<div id="transcript"[^>]*></div>', page())


def test_earlier_messages_are_a_link_where_there_are_any() -> None:
    assert "Earlier messages" not in page()
    markup = page(has_earlier=True, earlier_url=f"/c/{KEY}/earlier/?before=1")
    assert f'href="/c/{KEY}/earlier/?before=1"' in markup


def test_c89_only_the_two_status_regions_speak() -> None:
    live = Elements(page(bubbles=[bubble()])).with_attribute("aria-live")
    assert {a["id"]: a["aria-live"] for a in live} == {
        "transcript": "off",
        "announce": "polite",
        "link-announce": "polite",
    }


@pytest.mark.parametrize("name", ["400", "403", "403_csrf", "404", "413", "error", "500"])
def test_an_error_page_needs_nothing_and_leads_back(name: str) -> None:
    markup = render_to_string(f"{name}.html")
    assert "<h1>" in markup
    assert 'href="/"' in markup


def test_without_script_a_running_reply_offers_to_look_again() -> None:
    assert "Look again" in page(running=True)
    assert "Look again" not in page(running=False)
