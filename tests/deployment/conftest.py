"""Two Daphne processes on PostgreSQL and Redis, and the README's nginx in front of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.deployment.guest import Guest
from tests.deployment.nginx import HOST, Nginx
from tests.processes import Agent
from tests.survival.cluster import Cluster, MakeCluster

PASSWORD = "as good as any other"
MAKE_USER = (
    "from django.contrib.auth.models import User; User.objects.create_user({!r}, password={!r})"
)

type MakeGuest = Callable[..., Guest]


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """The agent-server of a module."""
    agent = Agent(tmp_path_factory.mktemp("agent"), "--show-joins", "--word-delay", "0.02")
    yield agent.start()
    agent.kill()


@pytest.fixture(scope="module")
def cluster(make_cluster: MakeCluster, upstream: Agent) -> Cluster:
    """The site, with the settings that the README names for a proxy."""
    return make_cluster(upstream.url, ALLOWED_HOSTS=HOST, TRUST_PROXY="true")


@pytest.fixture
def make_nginx(tmp_path: Path) -> Iterator[Callable[..., Nginx]]:
    """Starts the example in front of processes: `make_nginx(webs, {"60s": "4s"})`."""
    started: list[Nginx] = []

    def make(ports: list[int], changes: dict[str, str] | None = None) -> Nginx:
        folder = tmp_path / f"nginx{len(started)}"
        folder.mkdir()
        nginx = Nginx(folder, ports, changes or {})
        started.append(nginx)
        return nginx.start()

    yield make
    for nginx in started:
        nginx.stop()


@pytest.fixture
def nginx(make_nginx: Callable[..., Nginx], cluster: Cluster) -> Nginx:
    """As it stands in the README, in front of both processes."""
    return make_nginx([web.port for web in cluster.webs])


@pytest.fixture
def make_guest(cluster: Cluster) -> MakeGuest:
    """Somebody new, logged in through a proxy: `make_guest(nginx, "alice")`."""

    def make(nginx: Nginx, name: str) -> Guest:
        cluster.manage("shell", "-v", "0", "-c", MAKE_USER.format(name, PASSWORD))
        guest = Guest(nginx)
        assert guest.log_in(name, PASSWORD).status == 302
        return guest

    return make
