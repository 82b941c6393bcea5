"""What a running site writes: whose conversation and request, and never what was said there."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest
from psycopg import sql

from chat.agentserver.events import Json
from tests.agentserver.scripted import Refusal, ScriptedServer
from tests.pages.visitor import Visitor, hello, visitors
from tests.processes import PATIENCE_S, ROOT, Site, clean_environment
from tests.site.asking import ask

HOST, PORT, USER = "127.0.0.1", 5432, "root"
DATABASE = "chat_log_lines_test"
SAID = "Zwetschgendatschi"
TUNNEL_TOKEN, METRICS_TOKEN, LOGIN_TOKEN = "tunnel-hunter2", "metrics-hunter3", "AAA-hunter4"
NOT_DRAWN, NOT_STORED = "fails when it is drawn", "fails when it is stored"

SETTINGS = """
from chatsite.settings import *
INSTALLED_APPS = [*INSTALLED_APPS, "breaking"]
"""
BREAKING = f'''
from django.apps import AppConfig
from django.db import DataError, connection

class Breaking(AppConfig):
    name = "breaking"
    failures = 2

    def ready(self):
        from chat.transcript import painting, store
        draw, accept = painting.draw, store.accept

        def fail_to_draw(request, *args):
            if "{NOT_DRAWN}" in request.text and self.failures:
                self.failures -= 1
                raise ValueError(request.text)
            return draw(request, *args)

        def fail_to_store(conversation, text, *args, **more):
            if "{NOT_STORED}" in text:
                with connection.cursor() as cursor:
                    if connection.vendor == "postgresql":
                        cursor.execute("SELECT CAST(%s AS integer)", [text])
                raise DataError(text)
            return accept(conversation, text, *args, **more)

        painting.draw, store.accept = fail_to_draw, fail_to_store
'''

type MakeSite = Callable[..., Site]


class Misbehaving:
    """An agent-server in a thread of its own that gives back what it is told in every wrong way."""

    def __init__(self) -> None:
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._end = asyncio.Event()
        self._server = ScriptedServer()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._server.answers = {
            "getDisplayHistory": [],
            "listConversations": [],
            "createConversation": {"conversationId": "c1", "name": SAID},
            "submitCommand": self._submit,
            "cancelCommand": Refusal(f"no such thing as {SAID}"),
        }
        async with self._server as server:
            self.url = server.url
            self._ready.set()
            await self._end.wait()

    async def _submit(self, text: str, *args: Json) -> Json:
        name = args[3]
        for junk in (f"not json: {text}", json.dumps(text), json.dumps({"name": text})):
            await self._server.send(junk)
        await self._server.push(text, text)
        await self._server.push("setDisplay", text)
        await self._server.push("appendDisplay", {"message": text}, text)
        await self._server.invoke("clientio:c1", text, text, call_id=7)
        if "refuse" in text:
            return Refusal(f"I do not understand {text}", markdown=text)
        message = {"message": {"type": "text", "content": text}, "requestId": {"requestId": name}}
        await self._server.push("setDisplay", {**message, "source": text})
        return {"ok": True, "entry": {"requestId": name, "text": text, "state": "running"}}


@pytest.fixture
def misbehaving() -> Iterator[Misbehaving]:
    agent = Misbehaving()
    agent.start()
    yield agent
    agent.stop()


@pytest.fixture
def postgres() -> Iterator[str]:
    """The address of a database of the test's own."""
    try:
        admin = psycopg.connect(host=HOST, port=PORT, user=USER, dbname="postgres", autocommit=True)
    except psycopg.OperationalError as error:
        pytest.skip(f"no PostgreSQL to use at {HOST}:{PORT}: {error}")
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(DATABASE))
    with admin:
        admin.execute(drop)
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
        yield f"postgres://{USER}@{HOST}:{PORT}/{DATABASE}"
        admin.execute(drop)


@pytest.fixture
def breaking(tmp_path: Path) -> dict[str, str]:
    """Settings with which a site fails to draw, and to store, what asks for it by its text."""
    (tmp_path / "breaking_settings.py").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "breaking").mkdir()
    (tmp_path / "breaking" / "__init__.py").touch()
    (tmp_path / "breaking" / "apps.py").write_text(BREAKING, encoding="utf-8")
    return {"PYTHONPATH": str(tmp_path), "DJANGO_SETTINGS_MODULE": "breaking_settings"}


def lines_of(site: Site) -> list[dict[str, Any]]:
    """The lines that the site logged, of which each is JSON."""
    return [json.loads(line) for line in site.output.splitlines() if line.startswith("{")]


def wait_until(condition: Callable[[], Any], site: Site) -> Any:
    """The first true value of the condition."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"never so, but:\n{site.output}"
        time.sleep(0.1)
    return found


def wait_for_line(site: Site, event: str, **more: object) -> dict[str, Any]:
    """The first logged line of this event."""
    wanted = {"event": event, **more}.items()
    found: dict[str, Any] = wait_until(
        lambda: next((line for line in lines_of(site) if wanted <= line.items()), None), site
    )
    return found


async def look(visitor: Visitor) -> None:
    """Open the conversation's page, with its socket, for a moment."""
    async with asyncio.timeout(PATIENCE_S), visitor.socket() as socket:
        await hello(socket)
        await socket.recv()


def test_a_line_says_which_conversation_and_which_request(
    make_site: MakeSite, misbehaving: Misbehaving
) -> None:
    site = make_site(LOG_FORMAT="json", TYPEAGENT_SERVER_URL=misbehaving.url)
    (visitor,) = visitors(site, "alice")
    visitor.send("please refuse", "one")
    ((pk,),) = site.query("SELECT id FROM chat_conversation WHERE key = ?", visitor.key)
    ((request,),) = site.query("SELECT request_id FROM chat_request WHERE client_id = 'one'")
    about = {"conversation": pk, "request": request}
    assert wait_for_line(site, "message stored", **about)["logger"] == "chat.pages.views"
    assert wait_for_line(site, "submitting", **about)["logger"] == "chat.link.outbox"
    wait_for_line(site, "not accepted", **about)
    wait_for_line(site, "request ended", **about, state="failed")
    junk = "dropped a call that makes no sense: setDisplay"
    assert wait_for_line(site, junk, conversation=pk)["logger"] == "chat.agentserver.connection"
    visitor.get(f"{visitor.page}earlier/?before=nowhere")
    wait_for_line(site, f"Not Found: {visitor.page}earlier/", conversation=pk)
    visitor.get("/c/no-such-conversation/")
    assert "conversation" not in wait_for_line(site, "Not Found: /c/no-such-conversation/")


def go_wrong(site: Site) -> Visitor:
    """Somebody for whom all goes wrong that can, with what they say in it."""
    (visitor,) = visitors(site, "alice")
    asyncio.run(look(visitor))
    assert visitor.send(f"{SAID} is fine", "one").status == 200
    assert visitor.send(f"please refuse {SAID}", "two").status == 200
    assert visitor.send(f"{SAID} {NOT_DRAWN}", "three").status == 200
    assert visitor.send(f"{SAID} {NOT_STORED}", "four").status == 500
    asyncio.run(look(visitor))
    wait_for_output(site, "flush failed", "not accepted", "unknown name")
    assert visitor.post(f"{visitor.page}stop/", {}).status == 200
    wait_for_output(site, "cancel refused")
    assert visitor.get(f"{visitor.page}earlier/?before={SAID}").status == 404
    stranger = Visitor(site, visitor.session, visitor.key)
    form = urlencode({"text": SAID, "csrfmiddlewaretoken": SAID})
    assert stranger.post_raw(f"{visitor.page}messages/", form, htmx=False).status == 403
    assert ask(f"{site.url}/accounts/one-time/?sesame={LOGIN_TOKEN}").status == 403
    login = {"username": "alice", "password": SAID}
    Visitor(site, "", visitor.key).post_raw("/accounts/login/", urlencode(login), htmx=False)
    bearer = {"Authorization": f"Bearer {METRICS_TOKEN}", "X_Forwarded_For": "10.1.2.3"}
    assert ask(f"{site.url}/metrics", **bearer).status == 200
    return visitor


def wait_for_output(site: Site, *told: str) -> None:
    wait_until(lambda: all(text in site.output for text in told), site)


FAIL_EMBEDDED = f"""
import logging
from chat.management.embedded_process import set_up_logs
set_up_logs()
logging.getLogger("chat.localagent").error("a command failed", exc_info=ValueError("{SAID}"))
"""


def test_the_embedded_agent_server_logs_in_the_same_way() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAIL_EMBEDDED],
        cwd=ROOT,
        env=clean_environment(LOG_FORMAT="json"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    line = json.loads(done.stderr)
    assert (line["event"], line["exception"].splitlines()[-1]) == (
        "a command failed",
        "builtins.ValueError",
    )
    assert SAID not in done.stderr


@pytest.mark.parametrize(("database", "form"), [("sqlite", "text"), ("postgres", "json")])
def test_nothing_that_was_said_and_no_secret_is_logged(
    database: str,
    form: str,
    make_site: MakeSite,
    misbehaving: Misbehaving,
    breaking: dict[str, str],
    request: pytest.FixtureRequest,
) -> None:
    where = {"DATABASE_URL": request.getfixturevalue("postgres")} if database != "sqlite" else {}
    site = make_site(
        LOG_LEVEL="DEBUG",
        LOG_FORMAT=form,
        TYPEAGENT_SERVER_URL=misbehaving.url,
        TYPEAGENT_TUNNEL_TOKEN=TUNNEL_TOKEN,
        METRICS_TOKEN=METRICS_TOKEN,
        **where,
        **breaking,
    )
    visitor = go_wrong(site)
    site.stop()
    told = ("dropped a frame", "Forbidden", "Internal Server Error", "DataError", "ValueError")
    assert [text for text in told if text not in site.output] == []
    secrets = (SAID, TUNNEL_TOKEN, METRICS_TOKEN, LOGIN_TOKEN, visitor.session)
    assert [secret for secret in secrets if secret in site.output] == []
