"""A browser without scripts, for a running site: cookies, redirects, forms; and its sockets."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from email.message import Message
from http.cookiejar import CookieJar

from websockets.asyncio.client import ClientConnection, connect

from tests.pages.forms import Document
from tests.processes import PATIENCE_S, Site

MAKE = """
import json
from django.contrib.auth.models import User
from django.test import Client
from chat.models import Conversation
made = []
for name in {names!r}:
    user = User.objects.create_user(name, is_staff={staff!r}, is_superuser={staff!r})
    client = Client()
    client.force_login(user)
    made.append((client.session.session_key, Conversation.objects.create(user=user).key))
print("made:" + json.dumps(made))
"""


@dataclass
class Answer:
    """What came back; `url` is where it ended."""

    status: int
    url: str
    text: str
    headers: Message


class Visitor:
    """Somebody who is logged in to a site, and their conversation's `key`."""

    def __init__(self, site: Site, session: str, key: str) -> None:
        self.site, self.session, self.key = site, session, key
        self._token = ""
        self._jar = CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self._jar)
        )

    @property
    def page(self) -> str:
        return f"/c/{self.key}/"

    def get(self, path: str) -> Answer:
        return self._ask(path, None, {})

    def post(self, path: str, data: dict[str, str], *, htmx: bool = False) -> Answer:
        """As a form does, with the token of the conversation's page."""
        self.fetch_token()
        fields = {"csrfmiddlewaretoken": self._token, **data}
        return self.post_raw(path, urllib.parse.urlencode(fields), htmx=htmx)

    def post_raw(self, path: str, body: str, *, htmx: bool = True) -> Answer:
        """A body as it is; htmx sends the token in a header."""
        headers = {"HX-Request": "true", "X-CSRFToken": self._token} if htmx else {}
        return self._ask(path, body.encode(), headers)

    def send(self, text: str, client_id: str, *, htmx: bool = True) -> Answer:
        data = {"text": text, "client_id": client_id}
        return self.post(f"{self.page}messages/", data, htmx=htmx)

    def fetch_token(self) -> None:
        """What the page's forms send against foreign ones."""
        if not self._token:
            page = Document(self.get(self.page).text)
            self._token = page.form("/messages/", "text").fields["csrfmiddlewaretoken"]

    def socket(self) -> connect:
        """The page's socket, to be used with `async with`."""
        address = self.site.url.replace("http", "ws", 1) + f"/ws{self.page}"
        return connect(
            address,
            origin=self.site.url,  # type: ignore[arg-type]
            additional_headers={"Cookie": f"sessionid={self.session}"},
            proxy=None,
            compression=None,
            max_size=None,
        )

    def _ask(self, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        kept = {cookie.name: cookie.value for cookie in self._jar} | {"sessionid": self.session}
        cookie = "; ".join(f"{name}={text}" for name, text in kept.items())
        request = urllib.request.Request(
            self.site.url + path, body, {**headers, "Cookie": cookie, "Origin": self.site.url}
        )
        try:
            with self._opener.open(request, timeout=PATIENCE_S) as answer:
                return Answer(answer.status, answer.url, answer.read().decode(), answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.url or "", error.read().decode(), error.headers)


def visitors(site: Site, *names: str, staff: bool = False) -> list[Visitor]:
    """New users of a site, each logged in and with a conversation."""
    printed = site.manage("shell", "-v", "0", "-c", MAKE.format(names=names, staff=staff))
    made = json.loads(printed.rpartition("made:")[2])
    return [Visitor(site, session, key) for session, key in made]


async def hello(socket: ClientConnection, revision: int = 0) -> None:
    await socket.send(json.dumps({"type": "hello", "revision": revision}))
