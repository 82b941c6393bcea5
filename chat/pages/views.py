"""The pages and what their forms do. Each works without a script and with the socket down."""

from __future__ import annotations

import hashlib
from uuid import uuid4

import structlog
from django.conf import settings
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from chat.display.words import clean_text
from chat.link.fragments import bubbles_html
from chat.link.hub import poke_soon
from chat.link.status import Status
from chat.models import Conversation, LinkState, Origin, Request
from chat.pages.access import get_conversation, newest_conversation
from chat.pages.errors import composer_error
from chat.pages.forms import MessageForm, one_newline
from chat.pages.guard import PageRequest, signed_in
from chat.transcript import reading, store
from chat.transcript.bubbles import RETRIABLE

log = structlog.get_logger(__name__)


class SeeOther(HttpResponseRedirect):
    """After a form: the page it was in, to be fetched."""

    status_code = 303


@signed_in
@require_safe
def home(request: PageRequest) -> HttpResponse:
    """The conversation where the user was last."""
    return redirect("conversation", newest_conversation(request.user).key)


@signed_in
@require_safe
def conversation(request: PageRequest, key: str) -> HttpResponse:
    """The newest messages, from stored HTML."""
    found = get_conversation(request.user, key)
    store.prune(found.pk)
    poke_soon(found.pk)
    return _page(request, found, before=_place(request.GET.get("before", "")))


@signed_in
@require_safe
def earlier(request: PageRequest, key: str) -> HttpResponse:
    """Older messages, for a page that has newer ones; without a script, a page with both."""
    found = get_conversation(request.user, key)
    order = request.GET.get("before", "")
    before = _place(order)
    if before is None:
        raise Http404("No such place")
    if not request.htmx:
        return redirect(f"{reverse('conversation', args=[key])}?before={order}")
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
    text = form.cleaned_data["text"]
    client_id = form.cleaned_data["client_id"] or str(uuid4())
    accepted = store.accept(found, text, client_id)
    if accepted.text != text:
        # Without a script, the Back button brings a page back with an id that was used.
        digest = hashlib.sha256(text.encode()).hexdigest()
        accepted = store.accept(found, text, f"{client_id[:31]}-{digest[:32]}")
    return _accepted(request, found, accepted)


@signed_in
@require_POST
def stop(request: PageRequest, key: str) -> HttpResponse:
    """Ask for the end of what runs; the page changes when the agent-server agrees (C17)."""
    found = get_conversation(request.user, key)
    store.request_stop(found, _request_id(request))
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
        conversation=found,
        request_id=_request_id(request),
        origin=Origin.USER,
        state__in=RETRIABLE,
    ).first()
    if old is None and request.htmx:
        return HttpResponse(composer_error("There is nothing to retry any more."), status=404)
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
    return HttpResponse(status=204) if request.htmx else _to_page(found)


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
    window = _window(found, before)
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


def _window(found: Conversation, before: tuple[int, int] | None) -> reading.Window:
    """The newest messages; with a place, those before it too, and none left out between."""
    window = reading.newest_window(found)
    while before is not None and window.has_earlier:
        first = _place(window.bubbles[0].order)
        if first is None or first < before:
            break
        older = reading.newest_window(found, first)
        window = reading.Window(older.bubbles + window.bubbles, older.has_earlier)
    return window


def _earlier(found: Conversation, window: reading.Window) -> dict[str, object]:
    if not window.has_earlier:
        return {"has_earlier": False, "earlier_url": ""}
    address = reverse("earlier", args=[found.key])
    return {"has_earlier": True, "earlier_url": f"{address}?before={window.bubbles[0].order}"}


def _refuse(request: PageRequest, found: Conversation, form: MessageForm) -> HttpResponse:
    """Say what is wrong; the text stays with the user."""
    if request.htmx:
        return HttpResponse(composer_error(form.problem), status=422)
    draft = one_newline(clean_text(request.POST.get("text") or ""))
    return _page(request, found, draft=draft, error=form.problem, status=422)


def _accepted(request: PageRequest, found: Conversation, accepted: Request) -> HttpResponse:
    """Show the bubble at once, whether or not the page's socket works."""
    log.info("message stored", request=accepted.request_id)
    poke_soon(found.pk)
    if not request.htmx:
        return _to_page(found)
    # Only the question, and only where it is missing: the socket may have brought newer already.
    question = reading.bubbles_of(accepted)[0]
    context = {"b": question, "key": found.key, "oob": "insert"}
    return HttpResponse(
        render_to_string("chat/_message.html#message", context) + composer_error("")
    )


def _done(request: PageRequest, found: Conversation, body: str = "") -> HttpResponse:
    poke_soon(found.pk)
    return HttpResponse(body) if request.htmx else _to_page(found)


def _to_page(found: Conversation) -> HttpResponse:
    return SeeOther(reverse("conversation", args=[found.key]))


def _request_id(request: PageRequest) -> str:
    return clean_text(request.POST.get("request") or "")[:200]


def _place(order: str) -> tuple[int, int] | None:
    """The place (seq, step) that a bubble's order names."""
    seq, _, step = order.partition(".")
    valid = seq.isascii() and seq.isdigit() and step.isascii() and step.isdigit()
    return (int(seq), int(step)) if valid and len(order) <= 16 else None
