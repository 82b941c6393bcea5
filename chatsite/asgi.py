"""The site as an ASGI application: pages over HTTP, live updates over WebSocket."""

from __future__ import annotations

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")
pages = get_asgi_application()

# Only after Django is set up.
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from chat import checks  # noqa: E402
from chat.link import hub  # noqa: E402
from chat.pages.probes import Probes  # noqa: E402
from chat.pages.routing import websocket_urlpatterns  # noqa: E402
from chatsite import under_daphne  # noqa: E402
from chatsite.lifecycle import Life, hook_reactor, lifespan_app  # noqa: E402

checks.refuse_to_start()
life = Life(hub.startup, hub.shutdown, stop_within_s=settings.STOP_WITHIN_S)
application = ProtocolTypeRouter(
    {
        "http": Probes(pages),
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(URLRouter(websocket_urlpatterns))
        ),
        "lifespan": lifespan_app(life),
    }
)
under_daphne.adapt()
hook_reactor(life)
