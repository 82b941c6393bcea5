"""What the answers tell a browser: keep nothing, run nothing foreign."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.test import Client

from chat.models import Conversation
from tests.pages.forms import Document

PAGES = ("/", "/c/alices-chat/", "/c/alices-chat/earlier/?before=000000000001.000")


@pytest.mark.parametrize("address", PAGES)
def test_a_page_of_the_chat_is_kept_by_no_cache(
    web: Client, chat: Conversation, address: str
) -> None:
    assert "no-store" in web.get(address).headers["Cache-Control"]


@pytest.mark.parametrize("route", ["messages/", "stop/", "clear/", "retry/", "reconnect/"])
def test_no_answer_to_a_form_is_kept_by_a_cache(
    web: Client, chat: Conversation, route: str
) -> None:
    answer = web.post(f"/c/alices-chat/{route}", {"text": ""})
    if answer.status_code != 404:
        assert "no-store" in answer.headers["Cache-Control"]


def test_what_a_stranger_is_told_is_kept_by_no_cache(client: Client, chat: Conversation) -> None:
    assert "no-store" in client.get("/c/alices-chat/").headers["Cache-Control"]


@pytest.mark.parametrize("address", ["/accounts/login/", "/accounts/one-time/?sesame=x"])
def test_no_log_in_is_kept_by_a_cache(client: Client, db: None, address: str) -> None:
    assert "no-store" in client.get(address).headers["Cache-Control"]


def test_the_policy_allows_nothing_foreign_and_nothing_inline(
    web: Client, chat: Conversation
) -> None:
    policy = web.get("/c/alices-chat/").headers["Content-Security-Policy"]
    rules = dict(re.findall(r"([\w-]+) ([^;]*)", policy))
    assert rules["default-src"] == "'self'"
    assert rules["img-src"] == "'self' data: blob:"
    assert rules["object-src"] == rules["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy
    assert "http" not in policy


def test_every_script_is_a_deferred_file_of_the_sites_own(web: Client, chat: Conversation) -> None:
    page = Document(web.get("/c/alices-chat/").content)
    scripts = page.all("script")
    assert len(scripts) >= 3
    for script in scripts:
        assert script.attributes["src"].startswith(settings.STATIC_URL)
        assert "defer" in script.attributes
        assert script.text == ""


def test_the_page_needs_one_style_sheet_and_no_font(web: Client, chat: Conversation) -> None:
    page = Document(web.get("/c/alices-chat/").content)
    assert len(page.all("link", rel="stylesheet")) == 1
    assert {link.attributes["rel"] for link in page.all("link")} == {"stylesheet", "icon"}


def test_there_is_no_inline_handler_and_no_inline_style(web: Client, chat: Conversation) -> None:
    page = Document(web.get("/c/alices-chat/").content)
    for element in page.elements:
        assert not {name for name in element.attributes if name.startswith("on")}
        assert "style" not in element.attributes
    assert not page.all("style")


def test_the_agent_server_is_named_nowhere(
    web: Client, chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "TYPEAGENT_SERVER_URL", "ws://secret-host.example:8999")
    monkeypatch.setattr(settings, "TYPEAGENT_TUNNEL_TOKEN", "secret-token")
    Conversation.objects.update(upstream_id="secret-id")
    answer = web.get("/c/alices-chat/")
    assert "secret" not in answer.content.decode() + str(answer.headers)
