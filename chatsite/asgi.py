"""The site as an ASGI application: pages over HTTP, live updates over WebSocket."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")
pages = get_asgi_application()

# Only after Django is set up.
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from chatsite.lifecycle import hook_reactor, lifespan_app  # noqa: E402


async def _nothing() -> None:
    pass


# The link and the pages are not all here yet: what is missing is left out.
_routing: Any = import_module("chat.pages.routing") if find_spec("chat.pages.routing") else None
_hub: Any = import_module("chat.link.hub") if find_spec("chat.link.hub") else None
websocket_urlpatterns = _routing.websocket_urlpatterns if _routing else []
_startup = _hub.startup if _hub else _nothing
_shutdown = _hub.shutdown if _hub else _nothing

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(URLRouter(websocket_urlpatterns))
        ),
        "lifespan": lifespan_app(_startup, _shutdown),
    }
)
hook_reactor(_startup, _shutdown)
