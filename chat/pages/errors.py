"""What is said when a request is refused before it reaches its view, or cannot be carried out.

htmx gets a line for the page that the user sees; it would ignore a whole page (see C67).
"""

from __future__ import annotations

import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views import csrf, defaults

from chat.pages.guard import log_in_first

TOO_BIG = "This is too long: a message can have {limit:g} kB at most. Nothing was sent."
NO_DATABASE = (
    "The site cannot reach its database at the moment. Nothing was stored, and your text is kept: "
    "try again in a moment."
)
NO_ROOM = (
    "The site has no room left on its disk. Nothing was stored, and your text is kept: "
    "try again later."
)
RETRY_AFTER_S = 5
FULL = ("database or disk is full", "No space left on device")  # of SQLite, of PostgreSQL
STALE = "This page is out of date. Nothing was sent: reload it and try again."


def composer_error(text: str) -> str:
    """The line over the message field, for the page of an htmx request."""
    return render_to_string("chat/_parts.html#composer_error", {"error": text, "oob": True})


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A request that cannot be read; one that is too large has a status of its own."""
    if not isinstance(exception, RequestDataTooBig):
        return defaults.bad_request(request, exception)
    if _by_htmx(request):
        text = TOO_BIG.format(limit=settings.CHAT_TEXT_LIMIT_BYTES / 1000)
        return HttpResponse(composer_error(text), status=413)
    return render(request, "413.html", status=413)


def server_error(request: HttpRequest) -> HttpResponse:
    """A fault of the site's. Where the database is away or full there is more to say than that."""
    error = sys.exc_info()[1]
    if not isinstance(error, (OperationalError, InterfaceError)):
        return defaults.server_error(request)
    full = any(words in str(error) for words in FULL)
    text, status = (NO_ROOM, 507) if full else (NO_DATABASE, 503)
    if _by_htmx(request):
        body = composer_error(text)
    else:  # nothing that would ask the database
        body = render_to_string("503.html", {"text": text})
    return HttpResponse(body, status=status, headers={"Retry-After": str(RETRY_AFTER_S)})


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without this browser's token, mostly from a page that was left open."""
    if not _by_htmx(request):
        return csrf.csrf_failure(request, reason)
    if not request.user.is_authenticated:
        return log_in_first(request)
    return HttpResponse(composer_error(STALE), status=403)


def locked_out(request: HttpRequest, response: Any, credentials: Any) -> HttpResponse:
    """Too many wrong passwords."""
    minutes = settings.AXES_COOLOFF_TIME.total_seconds() / 60
    words = {
        "title": "Too many tries",
        "text": f"The password was wrong too often. Try again in {minutes:g} minutes.",
    }
    return render(request, "error.html", words, status=429)


def _by_htmx(request: HttpRequest) -> bool:
    return bool(getattr(request, "htmx", False))
