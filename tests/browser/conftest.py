"""Phones for browser tests: one site and one agent-server for all of them, a new user for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.chat import PATIENCE_MS, Chat
from tests.browser.director import Director
from tests.processes import Site, unmeasured

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
SESSION_COOKIE = "sessionid"
BATCH = 24
NEW_PEOPLE = """
import json
from uuid import uuid4
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
made = []
for _ in range({count}):
    user = User.objects.create_user(f"someone-{{uuid4().hex[:12]}}")
    user.is_staff = user.is_superuser = {staff}
    user.save()
    client = Client()
    client.force_login(user)
    made.append([user.username, client.cookies[settings.SESSION_COOKIE_NAME].value])
print("people:" + json.dumps(made))
"""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who is logged in at one site."""

    site: Site
    name: str
    session: str


def new_people(site: Site, count: int = 1, *, staff: bool = False) -> list[Person]:
    """Users of a site who are there for the first time, and logged in."""
    said = site.manage("shell", "-c", NEW_PEOPLE.format(count=count, staff=staff))
    made = json.loads(said.partition("people:")[2])
    return [Person(site, name, session) for name, session in made]


@pytest.fixture(scope="session")
def director(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Director]:
    """The agent-server behind `chat_site`, which shows what a test says."""
    director = Director(tmp_path_factory.mktemp("director"))
    yield director.start()
    director.stop()


@pytest.fixture(scope="session")
def chat_site(
    tmp_path_factory: pytest.TempPathFactory, static_root: Path, director: Director
) -> Iterator[Site]:
    """The running site that browser tests share: nobody may stop it."""
    data = tmp_path_factory.mktemp("chat-site") / "data"
    site = Site(data, static_root, TYPEAGENT_SERVER_URL=director.url)
    site.env = unmeasured(site.env)
    yield site.start()
    site.close()


@pytest.fixture(scope="session")
def strangers() -> list[Person]:
    """People of `chat_site` whom no test has met: made by the batch, because that takes long."""
    return []


@pytest.fixture
def person(chat_site: Site, strangers: list[Person]) -> Person:
    """A new user of `chat_site`, logged in."""
    if not strangers:
        strangers.extend(new_people(chat_site, BATCH))
    return strangers.pop()


@pytest.fixture
def make_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """A phone's browser of its own: `make_context(person, java_script_enabled=False)`."""
    contexts: list[BrowserContext] = []

    def make(person: Person | None = None, **options: Any) -> BrowserContext:
        context = browser.new_context(**{**PHONE, **options})
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        if person is not None:
            cookie = {"name": SESSION_COOKIE, "value": person.session, "url": person.site.url}
            context.add_cookies([cookie])  # type: ignore[list-item]
        return context

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def open_chat(make_context: Callable[..., BrowserContext]) -> Callable[..., Chat]:
    """Opens a person's chat: in a browser of its own, or as another tab `in_=` one they have."""

    def open_(
        person: Person,
        path: str = "/",
        in_: BrowserContext | None = None,
        prepare: Callable[[Any], None] | None = None,
    ) -> Chat:
        page = (in_ or make_context(person)).new_page()
        if prepare is not None:
            prepare(page)
        page.goto(path if path.startswith("http") else person.site.url + path)
        return Chat(page)

    return open_


@pytest.fixture
def chat(person: Person, open_chat: Callable[..., Chat]) -> Chat:
    """The empty chat of a new user, open and connected."""
    chat = open_chat(person)
    chat.wait_connected()
    return chat
