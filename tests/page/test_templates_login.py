"""The log-in pages: plain forms that say what went wrong."""

from __future__ import annotations

from django.contrib.auth.forms import AuthenticationForm
from django.template.loader import render_to_string

from tests.page.render import Elements, text_of


def test_logging_in_keeps_the_way_back() -> None:
    markup = render_to_string(
        "registration/login.html", {"form": AuthenticationForm(), "next": "/c/x/"}
    )
    assert 'name="next" value="/c/x/"' in markup
    assert 'autocomplete="current-password"' in markup


def test_a_missing_field_is_named_beside_it() -> None:
    form = AuthenticationForm(data={"username": "", "password": ""})
    markup = render_to_string("registration/login.html", {"form": form})
    found = Elements(markup)
    assert found.by_id("id_username")["aria-describedby"] == "username-error"
    assert found.by_id("password-error")
    assert "This field is required." in text_of(markup)


def test_a_spent_link_says_so_and_leads_to_the_form() -> None:
    markup = render_to_string("registration/one_time.html")
    assert "no longer works" in markup
    assert 'href="/accounts/login/"' in markup
