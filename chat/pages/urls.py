"""The addresses of the pages."""

from __future__ import annotations

from django.urls import path, re_path

from chat.models import KEY_PATTERN
from chat.pages import accounts, views

CONVERSATION = rf"^c/(?P<key>{KEY_PATTERN})"

urlpatterns = [
    path("", views.home, name="home"),
    re_path(rf"{CONVERSATION}/$", views.conversation, name="conversation"),
    re_path(rf"{CONVERSATION}/earlier/$", views.earlier, name="earlier"),
    re_path(rf"{CONVERSATION}/messages/$", views.send, name="send"),
    re_path(rf"{CONVERSATION}/stop/$", views.stop, name="stop"),
    re_path(rf"{CONVERSATION}/clear/$", views.clear, name="clear"),
    re_path(rf"{CONVERSATION}/retry/$", views.retry, name="retry"),
    re_path(rf"{CONVERSATION}/reconnect/$", views.reconnect, name="reconnect"),
    path("accounts/login/", accounts.Login.as_view(), name="login"),
    path("accounts/logout/", accounts.log_out, name="logout"),
    path("accounts/one-time/", accounts.one_time, name="one_time"),
]
