"""Django's login sessions, as far as open sockets must notice their end."""

from __future__ import annotations

import hashlib
from importlib import import_module
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest


def session_group(scope: dict[str, Any]) -> str:
    """The group of all sockets of one login. Hashed: a session key is a credential."""
    return _group(scope["session"].session_key or "")


def still_signed_in(scope: dict[str, Any]) -> bool:
    """Whether the login that opened this socket still holds: not ended, expired or deactivated."""
    key = scope["session"].session_key
    if not key:
        return False
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    user = get_user(request)
    return bool(user.is_authenticated and user.pk == scope["user"].pk)


def close_sockets_of(session_key: str | None) -> None:
    """Tell the sockets of a login that it has ended. Called from synchronous code."""
    if session_key:
        layer = get_channel_layer()
        async_to_sync(layer.group_send)(_group(session_key), {"type": "page.signed_out"})


def _group(session_key: str) -> str:
    return "login." + hashlib.sha256(session_key.encode()).hexdigest()[:40]
