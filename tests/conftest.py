"""What every test can ask for: a cast of users, the running site, an agent-server, a browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, settings

from chat.db import close_pool_connections
from tests.processes import Agent, Site
from tests.shared import SHARED
from tests.survival.cluster import MakeCluster, clusters
from tests.survival.stock import Stock

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

USUAL_MARKS = "not soak and not benchmark"  # as in pyproject.toml
WORKERS_MAX = 4
SLOW_FOLDERS = ("survival", "browser", "deployment", "site")
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
]
NO_CHROMIUM = "no Chromium here: install Debian's package chromium, or set CHROMIUM to its path"


# A busy machine is no fault of the code: no property test is timed.
settings.register_profile("site", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("site")


def of_everything(config: pytest.Config) -> bool:
    """Whether this is a run of all tests, as the README starts it."""
    chosen = config.option.keyword or config.option.markexpr != USUAL_MARKS
    return config.args_source is config.ArgsSource.TESTPATHS and not chosen


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """All tests share the cores, with one more at work while others wait for what they broke to
    come back; some tests run here, where a debugger and their output are.
    """
    return min((os.cpu_count() or 1) + 1, WORKERS_MAX) if of_everything(config) else 0


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take minutes first: no worker is left with one when all others are done."""
    items.sort(key=lambda item: item.path.parent.name not in SLOW_FOLDERS)


def pytest_configure(config: pytest.Config) -> None:
    """Coverage and its floor are of all tests: a run of some neither measures nor reports.

    Where the recordings of the agent-server are not at hand, many tests skip: no floor then.
    """
    coverage = config.pluginmanager.getplugin("_cov")
    worker = getattr(config, "workerinput", None)
    if coverage is not None and worker is not None:
        coverage.options.no_cov = "cov_master_host" not in worker  # as it was decided for all
    if coverage is None or worker is not None or not coverage._started:
        return
    if not of_everything(config):
        os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
        coverage.cov_controller.cov.stop()
        coverage._disabled = True
    elif not (SHARED / "wire").is_dir():
        coverage.options.cov_fail_under = 0


@pytest.fixture(autouse=True)
def _no_connection_stays_in_the_pool(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    mark = request.node.get_closest_marker("django_db")
    if mark is not None and mark.kwargs.get("transaction"):
        close_pool_connections()


@pytest.fixture
def alice(db: None) -> User:
    """Someone with conversations."""
    return User.objects.create_user("alice", password="alice's password")


@pytest.fixture
def bob(db: None) -> User:
    """Someone else, who must learn nothing of Alice's."""
    return User.objects.create_user("bob", password="bob's password")


@pytest.fixture
def staff(db: None) -> User:
    """Someone who may enter the admin and do everything there."""
    return User.objects.create_superuser("staff", password="staff's password")


@pytest.fixture(scope="session")
def static_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all sites of a run keep their collected files, so that only the first collects."""
    return tmp_path_factory.mktemp("static")


@pytest.fixture(scope="session")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stock]:
    """Databases with people in them, for `make_cluster` to copy."""
    stock = Stock(tmp_path_factory.mktemp("stock"))
    yield stock
    stock.close()


@pytest.fixture(scope="module")
def make_cluster(
    tmp_path_factory: pytest.TempPathFactory, static_root: Path, stock: Stock
) -> Iterator[MakeCluster]:
    """Starts sites of several processes, for a module: see `MakeCluster`."""
    with clusters(tmp_path_factory.mktemp("clusters"), static_root, stock) as make:
        yield make


@pytest.fixture
def make_site(tmp_path: Path, static_root: Path) -> Iterator[Callable[..., Site]]:
    """Starts the site as a subprocess: `make_site("--host", "0.0.0.0", SITE_NAME="Other")`."""
    sites: list[Site] = []

    def make(*options: str, **settings: str) -> Site:
        site = Site(tmp_path / f"site{len(sites)}", static_root, *options, **settings)
        sites.append(site)
        return site.start()

    yield make
    for site in sites:
        site.close()


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    """The site as the README starts it, with the embedded agent-server."""
    return make_site()


@pytest.fixture(scope="session")
def shared_site(tmp_path_factory: pytest.TempPathFactory, static_root: Path) -> Iterator[Site]:
    """One site for all tests that neither restart nor fill it, as starting one takes seconds.

    Make users of your own with `shared_site.login_link("somebody")`.
    """
    site = Site(tmp_path_factory.mktemp("shared") / "site", static_root)
    yield site.start()
    site.close()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent-server that the test itself stops, kills and starts; give its `url` to a site."""
    agent = Agent(tmp_path / "agent")
    yield agent.start()
    agent.stop()


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Where Chromium is. Without one a test is skipped, but in CI it fails."""
    named = os.environ.get("CHROMIUM")
    found = named or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(NO_CHROMIUM)
        pytest.skip(NO_CHROMIUM)
    return found


# For a module only: while Playwright's synchronous interface is in use, its event loop counts as
# running in this thread, and neither async tests nor the ORM work.
@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Browser]:
    """A real Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path, args=CHROMIUM_ARGUMENTS, headless=True
        )
        yield browser
        browser.close()


@pytest.fixture
def phone(browser: Browser, site: Site) -> Iterator[Page]:
    """A phone's browser, logged in to `site` and at its first page."""
    context = browser.new_context(
        viewport={"width": 390, "height": 844},
        device_scale_factor=2,
        is_mobile=True,
        has_touch=True,
    )
    page = context.new_page()
    page.goto(site.login_url)
    yield page
    context.close()
