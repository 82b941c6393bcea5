"""Whose address counts for the lock after wrong passwords."""

from __future__ import annotations

import pytest
from django.test import RequestFactory
from pytest_django import Settings

from chatsite.proxy import client_address

FORWARDED = {"HTTP_X_FORWARDED_FOR": "1.1.1.1, 2.2.2.2", "REMOTE_ADDR": "127.0.0.1"}


@pytest.mark.parametrize(("trusted", "address"), [(False, "127.0.0.1"), (True, "2.2.2.2")])
def test_only_what_a_trusted_proxy_added_counts(
    trusted: bool, address: str, settings: Settings, rf: RequestFactory
) -> None:
    settings.TRUST_PROXY = trusted
    assert client_address(rf.get("/", **FORWARDED)) == address  # type: ignore[arg-type]


def test_without_a_forwarded_address_the_connection_counts(
    settings: Settings, rf: RequestFactory
) -> None:
    settings.TRUST_PROXY = True
    assert client_address(rf.get("/", REMOTE_ADDR="9.9.9.9")) == "9.9.9.9"
