"""Addresses of the site: the admin, and everything else in `chat.pages`."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("chat.pages.urls")),
]

handler400 = "chat.pages.errors.bad_request"
handler500 = "chat.pages.errors.server_error"
