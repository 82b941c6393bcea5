"""Sends who is not logged in to the log-in, and back afterwards."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django_htmx.middleware import HtmxDetails


class PageRequest(HttpRequest):
    """A request that went through the middleware."""

    htmx: HtmxDetails


type View = Callable[..., HttpResponse]


def signed_in(view: View) -> View:
    """For every page of the chat: only for who is logged in, and kept by no cache."""

    @wraps(view)
    def guarded(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        return log_in_first(request, kwargs.get("key", ""))

    return cache_control(no_store=True)(guarded)


def log_in_first(request: Any, key: str = "") -> HttpResponse:
    """To the log-in: htmx by a header, for it would swap a page in (see C66)."""
    if request.htmx:
        back = request.htmx.current_url_abs_path
    elif request.method in ("GET", "HEAD"):
        back = request.get_full_path()
    else:  # a form: its address shows nothing
        back = reverse("conversation", args=[key]) if key else "/"
    address = f"{reverse('login')}?next={quote(back or '/')}"
    if request.htmx:
        return HttpResponse(status=401, headers={"HX-Redirect": address})
    return redirect(address)
