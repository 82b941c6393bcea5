"""Logging in and out, and the link that logs in once."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.signals import user_logged_out
from django.contrib.auth.views import LoginView
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chat.pages.sessions import close_sockets_of


class Login(LoginView):
    """By name and password. Who is logged in already goes on to the chat."""

    redirect_authenticated_user = True


@require_POST
def log_out(request: HttpRequest) -> HttpResponse:
    """End the login; the page's script removes the drafts it kept."""
    logout(request)
    return redirect("login")


@never_cache
@require_GET
def one_time(request: HttpRequest) -> HttpResponse:
    """Log in by a link that works once and for ten minutes."""
    user = authenticate(request, sesame=request.GET.get("sesame", ""))
    if user is None:
        return render(request, "registration/one_time.html", status=403)
    login(request, user)
    return redirect("home")


@receiver(user_logged_out)
def close_open_pages(sender: Any, request: HttpRequest, **kwargs: Any) -> None:
    """A log-out in one tab ends the others too (see C54). Sent before the login is flushed."""
    close_sockets_of(request.session.session_key)
