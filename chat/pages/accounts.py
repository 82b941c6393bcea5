"""Logging in and out, and the link that logs in once."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth import login, logout
from django.contrib.auth.signals import user_logged_out
from django.contrib.auth.views import LoginView
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from sesame.backends import ModelBackend as OneTimeLinks

from chat.pages.sessions import close_sockets_of


class Login(LoginView):
    """By name and password. Who is logged in already goes on to the chat."""

    redirect_authenticated_user = True

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        """Never this page again, where somebody who is logged in would be sent round in a ring."""
        address = super().get_redirect_url(request)
        return "" if urlsplit(address).path == self.request.path else address


@require_POST
def log_out(request: HttpRequest) -> HttpResponse:
    """End the login; the page's script removes the drafts it kept."""
    logout(request)
    return redirect("login")


@never_cache
@require_GET
def one_time(request: HttpRequest) -> HttpResponse:
    """Log in by a link that works once and for ten minutes.

    Past django-axes, which counts failures: a used link pressed six times would lock out a new
    one, and what cannot be guessed needs no count.
    """
    user = OneTimeLinks().authenticate(request, sesame=request.GET.get("sesame", ""))
    if user is not None:
        if request.user.pk != user.pk:
            logout(request)  # of somebody else, whose open pages must close
        login(request, user, backend="sesame.backends.ModelBackend")
    elif not request.user.is_authenticated:
        return render(request, "registration/one_time.html", status=403)
    return redirect("home")


@receiver(user_logged_out)
def close_open_pages(sender: Any, request: HttpRequest, **kwargs: Any) -> None:
    """A log-out in one tab ends the others too (see C54).

    Django sends this before it ends the login. A page told then could come back as logged in,
    so the login is ended here.
    """
    key = request.session.session_key
    request.session.flush()
    close_sockets_of(key)
