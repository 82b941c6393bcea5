"""C71: names, notes and sources are text in every page and every fragment, whatever they hold."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.link.fragments import announce_html, bubbles_html, state_html
from chat.link.status import Status
from chat.models import Conversation, LinkState, Message, RequestState, Role
from chat.transcript import reading
from tests.pages.forms import Document
from tests.pages.make import ended

HOSTILE = [
    "<img src=x onerror=alert(1)><svg onload=alert(1)>",
    "\"><script>alert(1)</script>' onmouseover='alert(1)",
    "</title></textarea><iframe srcdoc=x></iframe>",
    "[x](javascript:alert(1)) {{ csrf_token }}{% now 'Y' %} &lt;b&gt;",
]


@pytest.fixture(params=HOSTILE, ids=range(len(HOSTILE)))
def hostile(request: pytest.FixtureRequest) -> str:
    text: str = request.param
    return text


def inert(html: str | bytes) -> Document:
    """The document, in which nothing runs that the site did not put there."""
    page = Document(html)
    for element in page.elements:
        assert element.tag not in ("img", "iframe", "object", "embed")
        assert not [name for name in element.attributes if name.startswith("on")]
        assert not element.attributes.get("href", "").lower().startswith("javascript:")
        if element.tag == "script":
            assert element.attributes["src"].startswith("/static/")
            assert element.text == ""
        if element.tag == "svg":
            assert element.attributes.get("viewbox") == "0 0 24 24"
    return page


def test_c71_the_conversations_name(web: Client, chat: Conversation, hostile: str) -> None:
    Conversation.objects.update(name=hostile)
    page = inert(web.get("/c/alices-chat/").content)
    assert page.one("h1").text == page.one("title").text.strip() == hostile


def test_c71_the_users_name(client: Client, db: None, hostile: str) -> None:
    user = User.objects.create_user(hostile)
    client.force_login(user)
    Conversation.objects.create(user=user, key="theirs")
    page = inert(client.get("/c/theirs/").content)
    assert hostile in page.one("form", data_logout="").text


def test_c71_the_users_name_at_the_log_in(client: Client, db: None, hostile: str) -> None:
    answer = client.post("/accounts/login/", {"username": hostile, "password": "x"})
    assert inert(answer.content).form("", "username").fields["username"] == hostile


def test_c71_where_the_log_in_leads(client: Client, db: None, hostile: str) -> None:
    answer = client.get("/accounts/login/", {"next": hostile})
    inert(answer.content)


def test_c71_the_note_and_the_source_of_a_message(
    web: Client, chat: Conversation, hostile: str
) -> None:
    request = ended(chat, "hello", RequestState.FAILED)
    Message.objects.create(
        uid="answer",
        conversation=chat,
        request=request,
        role=Role.AGENT,
        seq=request.seq,
        step=1,
        html="answer",
        source=hostile[:200],
        source_icon=hostile[:32],
        note=hostile,
        revision=1,
    )
    pushed = bubbles_html(chat.key, reading.bubbles_of(request))
    for html in (web.get("/c/alices-chat/").content, pushed):
        page = inert(html)
        by = page.all("header", class_="by")[-1]
        assert hostile in by.text
        assert hostile[:32] in by.text
        assert page.all("span", class_="note")[-1].text == hostile


def test_c71_what_a_user_wrote(web: Client, chat: Conversation, hostile: str) -> None:
    answer = web.post("/c/alices-chat/messages/", {"text": hostile}, headers={"HX-Request": "true"})
    for html in (answer.content, web.get("/c/alices-chat/").content):
        page = inert(html)
        (body,) = [element for element in page.elements if "data-body" in element.attributes]
        assert body.text == hostile


def test_c71_a_text_that_is_given_back(web: Client, chat: Conversation, hostile: str) -> None:
    text = hostile * 2_500
    page = inert(web.post("/c/alices-chat/messages/", {"text": text}).content)
    assert page.form("/messages/", "text").fields["text"] == text


def test_c71_the_error_of_the_link(web: Client, chat: Conversation, hostile: str) -> None:
    Conversation.objects.update(link_state=LinkState.LOST, link_error=hostile)
    pushed = state_html(chat.key, Status(LinkState.LOST, hostile, 3), running=False)
    for html in (web.get("/c/alices-chat/").content, pushed):
        assert hostile in inert(html).one(id="connection").text


def test_c71_what_a_screen_reader_is_told(hostile: str) -> None:
    assert inert(announce_html([hostile])).one(id="announce").text == hostile


def test_c71_an_address_that_is_not_there(web: Client, hostile: str) -> None:
    inert(web.get(f"/c/{hostile}/").content)
