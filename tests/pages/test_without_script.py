"""With JavaScript off one can log in, read, send, stop, clear and log out: forms and links only."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation, RequestState
from tests.pages.forms import Document, Form
from tests.pages.make import ended


class Browser:
    """Follows forms and links as they stand in the page, with the tokens that stand in them."""

    def __init__(self) -> None:
        self._client = Client(enforce_csrf_checks=True)
        self.address = ""
        self.status = 0
        self.page = Document("")

    def visit(self, address: str) -> None:
        self._show(self._client.get(address, follow=True), address)

    def submit(self, form: Form, **typed: str) -> None:
        assert form.method == "post"
        address = form.action or self.address
        data = {**form.fields, **typed}
        self._show(self._client.post(address, data, follow=True), address)

    @property
    def texts(self) -> list[str]:
        return [e.text for e in self.page.elements if "data-body" in e.attributes]

    def _show(self, answer: object, address: str) -> None:
        ends = getattr(answer, "redirect_chain", [])
        self.address = ends[-1][0] if ends else address
        self.status = getattr(answer, "status_code", 0)
        self.page = Document(getattr(answer, "content", b""))


@pytest.fixture
def browser(alice: User) -> Browser:
    """Alice's, logged in by the form."""
    browser = Browser()
    browser.visit("/")
    assert browser.address == "/accounts/login/?next=/"
    form = browser.page.form("", "username")
    browser.submit(form, username="alice", password="alice's password")
    assert browser.status == 200
    assert browser.page.one("main").attributes["data-conversation"]
    return browser


def test_one_can_send_and_read(browser: Browser) -> None:
    for text in ("hello", "and more\nin two lines"):
        form = browser.page.form("/messages/", "text")
        browser.submit(form, text=text.replace("\n", "\r\n"))
        assert browser.status == 200
    assert browser.texts == ["hello", "and more\nin two lines"]
    browser.visit("/")
    assert browser.texts == ["hello", "and more\nin two lines"]


def test_an_error_is_read_and_the_text_can_be_mended(browser: Browser) -> None:
    browser.submit(browser.page.form("/messages/", "text"), text="x" * 20_001)
    assert browser.status == 422
    assert "20 kB at most" in browser.page.one(id="composer-error").text
    form = browser.page.form("/messages/", "text")
    browser.submit(form, text=form.fields["text"][:20_000])
    assert browser.status == 200
    assert browser.texts == ["x" * 20_000]
    assert browser.page.form("/messages/", "text").fields["text"] == ""


def test_a_suggestion_is_a_form(browser: Browser) -> None:
    (form, *_) = [form for form in browser.page.forms if any("text" in b for b in form.buttons)]
    browser.submit(form, **form.buttons[0])
    assert browser.texts == [form.buttons[0]["text"]]


def test_one_can_stop_retry_and_clear(browser: Browser) -> None:
    chat = Conversation.objects.get()
    ended(chat, "running", RequestState.RUNNING)
    ended(chat, "failed", RequestState.FAILED)
    browser.visit("/")
    browser.submit(browser.page.form("/stop/"))
    assert chat.requests.filter(stop_requested=True).count() == 1
    browser.submit(browser.page.form("/retry/"))
    assert browser.texts == ["running", "failed", "failed"]
    browser.submit(browser.page.form("/clear/"))
    assert (browser.status, browser.texts) == (200, [])


def test_one_can_try_the_agent_server_again(browser: Browser) -> None:
    Conversation.objects.update(link_state="lost", link_error="It is away")
    browser.visit("/")
    assert "It is away" in browser.page.one(id="connection").text
    browser.submit(browser.page.form("/reconnect/"))
    assert browser.status == 200


def test_one_can_log_out(browser: Browser) -> None:
    browser.submit(browser.page.form("/logout/"))
    assert browser.address == "/accounts/login/"
    browser.visit("/")
    assert browser.address == "/accounts/login/?next=/"


def test_a_form_of_before_the_log_out_leads_back_to_the_page(browser: Browser) -> None:
    key = browser.page.one("main").attributes["data-conversation"]
    old = browser.page.form("/messages/", "text")
    browser.submit(browser.page.form("/logout/"))
    browser.submit(old, text="hello")
    assert browser.address == f"/accounts/login/?next=/c/{key}/"
    form = browser.page.form("", "username")
    browser.submit(form, username="alice", password="alice's password")
    assert browser.page.one("main").attributes["data-conversation"] == key
