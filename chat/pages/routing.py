"""The WebSocket's address."""

from django.urls import re_path

from chat.models import KEY_PATTERN
from chat.pages.consumers import PageConsumer

websocket_urlpatterns = [re_path(rf"^ws/c/(?P<key>{KEY_PATTERN})/$", PageConsumer.as_asgi())]
