"""A page on which nothing happens stays connected through the README's nginx, by Daphne's pings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.deployment.conftest import MakeGuest
from tests.deployment.nginx import Nginx
from tests.deployment.test_nginx_example import silence
from tests.survival.cluster import Cluster, Web

NGINX_WAITS_S = 6
SILENT_S = 20.0
"""Several times as long."""


@pytest.mark.parametrize(("ping_every_s", "lives"), [(1, True), (3600, False)])
async def test_c37_pings_and_nothing_else_keep_a_silent_socket_open(
    ping_every_s: int,
    lives: bool,
    make_nginx: Callable[..., Nginx],
    make_guest: MakeGuest,
    cluster: Cluster,
) -> None:
    web = Web(cluster.env, "--ping-interval", str(ping_every_s))
    await asyncio.to_thread(web.start)
    try:
        changes = {"proxy_read_timeout 60s;": f"proxy_read_timeout {NGINX_WAITS_S}s;"}
        nginx = await asyncio.to_thread(make_nginx, [web.port], changes)
        quiet = await asyncio.to_thread(make_guest, nginx, f"quiet-{ping_every_s}")
        assert await silence(quiet, SILENT_S) is lives
    finally:
        await asyncio.to_thread(web.kill)
