"""The WebSocket's address."""

from django.urls import re_path

from chat.models import KEY_PATTERN
from chat.pages.consumers import PageConsumer

page = PageConsumer.as_asgi()

websocket_urlpatterns = [
    re_path(rf"^ws/c/(?P<key>{KEY_PATTERN})/$", page),
    # Every other address is answered as a conversation that does not exist, not by an exception.
    re_path(r"", page, {"key": ""}),
]
