"""The pages and what their forms do. Each works without a script and with the socket down."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET, require_POST
from django_htmx.middleware import HtmxDetails

from chat.link.fragments import bubbles_html
from chat.link.hub import poke_soon
from chat.link.status import Status
from chat.models import Conversation, LinkState, Request
from chat.pages.access import get_conversation, newest_conversation
from chat.pages.forms import MessageForm
from chat.transcript import reading, store

MAX_DRAFT_SHOWN = 200_000  # characters of a refused message that are given back in the page


class PageRequest(HttpRequest):
    htmx: HtmxDetails


type View = Callable[..., HttpResponse]


def signed_in(view: View) -> View:
    """Send strangers to the log-in, htmx by a header: it would swap the page in (see C66)."""

    @wraps(view)
    def guarded(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        back = request.htmx.current_url_abs_path if request.htmx else request.get_full_path()
        if request.method != "GET" and not request.htmx:
            back = "/"
        login = f"{reverse('login')}?next={quote(back or '/')}"
        if request.htmx:
            return HttpResponse(status=401, headers={"HX-Redirect": login})
        return redirect(login)

    return cache_control(no_store=True)(guarded)


@signed_in
@require_GET
def home(request: PageRequest) -> HttpResponse:
    """The conversation where the user was last."""
    return redirect("conversation", newest_conversation(request.user).key)


@signed_in
@require_GET
def conversation(request: PageRequest, key: str) -> HttpResponse:
    """The newest messages, from stored HTML."""
    found = get_conversation(request.user, key)
    store.prune(found.pk)
    poke_soon(found.pk)
    return _page(request, found, before=_place(request.GET.get("before", "")))


@signed_in
@require_GET
def earlier(request: PageRequest, key: str) -> HttpResponse:
    """Older messages, for a page that has newer ones."""
    found = get_conversation(request.user, key)
    before = _place(request.GET.get("before", ""))
    if before is None:
        raise Http404("No such place")
    window = reading.newest_window(found, before)
    link = render_to_string("chat/_parts.html#earlier", {**_earlier(found, window), "oob": True})
    return HttpResponse(bubbles_html(key, window.bubbles) + link)


@signed_in
@require_POST
def send(request: PageRequest, key: str) -> HttpResponse:
    """Accept a message: stored when this answers, sent on by the owner."""
    found = get_conversation(request.user, key)
    form = MessageForm(request.POST)
    if not form.is_valid():
        return _refuse(request, found, form)
    client_id = form.cleaned_data["client_id"] or str(uuid4())
    accepted = store.accept(found, form.cleaned_data["text"], client_id)
    return _accepted(request, found, accepted)


@signed_in
@require_POST
def stop(request: PageRequest, key: str) -> HttpResponse:
    """Ask for the end of what runs; the page changes when the agent-server agrees (C17)."""
    found = get_conversation(request.user, key)
    store.request_stop(found, request.POST.get("request", "")[:200])
    return _done(request, found)


@signed_in
@require_POST
def clear(request: PageRequest, key: str) -> HttpResponse:
    """Empty the transcript, here and on every open page."""
    found = get_conversation(request.user, key)
    store.clear(found.pk)
    reset = '<div id="manifest" hidden data-uids="" data-reset="1"'
    return _done(request, found, f'{reset} hx-swap-oob="manifest:#transcript"></div>')


@signed_in
@require_POST
def retry(request: PageRequest, key: str) -> HttpResponse:
    """Send again what did not end well, as a new message; pressed twice it is sent once."""
    found = get_conversation(request.user, key)
    old = Request.objects.filter(
        conversation=found, request_id=request.POST.get("request", "")[:200]
    ).first()
    if old is None:
        raise Http404("No such request")
    accepted = store.accept(found, old.text, f"retry-{old.pk}", retry_of=old.request_id)
    return _accepted(request, found, accepted)


@signed_in
@require_POST
def reconnect(request: PageRequest, key: str) -> HttpResponse:
    """Try the agent-server again now."""
    found = get_conversation(request.user, key)
    poke_soon(found.pk, "owner.retry")
    return HttpResponse(status=204) if request.htmx else redirect("conversation", key)


def _page(
    request: PageRequest,
    found: Conversation,
    *,
    before: tuple[int, int] | None = None,
    draft: str = "",
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    found.refresh_from_db()  # the revision is read before the rows: late is better than lost
    window = reading.newest_window(found, before)
    link = Status(LinkState(found.link_state), found.link_error)
    context = {
        "conversation": found,
        "bubbles": window.bubbles,
        **_earlier(found, window),
        "connection": link.for_page(),
        "running": reading.is_running(found),
        "revision": found.revision,
        "text_limit": settings.CHAT_TEXT_LIMIT_BYTES,
        "client_id": str(uuid4()),
        "draft": draft,
        "error": error,
        "max_messages": settings.CHAT_MAX_MESSAGES,
        "max_age_days": settings.CHAT_MAX_AGE_DAYS,
    }
    return render(request, "chat/conversation.html", context, status=status)


def _earlier(found: Conversation, window: reading.Window) -> dict[str, object]:
    if not window.has_earlier:
        return {"has_earlier": False, "earlier_url": ""}
    address = reverse("earlier", args=[found.key])
    return {"has_earlier": True, "earlier_url": f"{address}?before={window.bubbles[0].order}"}


def _refuse(request: PageRequest, found: Conversation, form: MessageForm) -> HttpResponse:
    """Say what is wrong; the text stays with the user."""
    if request.htmx:
        body = render_to_string(
            "chat/_parts.html#composer_error", {"error": form.problem, "oob": True}
        )
        return HttpResponse(body, status=422)
    draft = (request.POST.get("text") or "")[:MAX_DRAFT_SHOWN]
    return _page(request, found, draft=draft, error=form.problem, status=422)


def _accepted(request: PageRequest, found: Conversation, accepted: Request) -> HttpResponse:
    """Show the bubble at once, whether or not the page's socket works."""
    poke_soon(found.pk)
    if not request.htmx:
        return _to_page(found)
    own = reading.bubbles_of(accepted)
    return HttpResponse(
        bubbles_html(found.key, own)
        + render_to_string("chat/_parts.html#composer_error", {"error": "", "oob": True})
    )


def _done(request: PageRequest, found: Conversation, body: str = "") -> HttpResponse:
    poke_soon(found.pk)
    return HttpResponse(body) if request.htmx else _to_page(found)


def _to_page(found: Conversation) -> HttpResponse:
    return HttpResponse(status=303, headers={"Location": reverse("conversation", args=[found.key])})


def _place(order: str) -> tuple[int, int] | None:
    """The place (seq, step) that a bubble's order names."""
    seq, _, step = order.partition(".")
    valid = seq.isascii() and seq.isdigit() and step.isascii() and step.isdigit()
    return (int(seq), int(step)) if valid and len(order) <= 16 else None
