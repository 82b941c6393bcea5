"""Addresses of the site: the admin, and everything else in `chat.pages`."""

from django.contrib import admin
from django.urls import path

urlpatterns = [path("admin/", admin.site.urls)]
