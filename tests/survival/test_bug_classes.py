"""Faults that chat sites are known for, each by the sequence that brings it about, on a site with
one thread for its views and a garbage collector that never rests.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from redis import Redis
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from chatsite.keys import public_name
from tests.link.view import View
from tests.processes import PATIENCE_S, Agent
from tests.survival.cluster import Cluster, Web
from tests.survival.conftest import StartTalk
from tests.survival.person import Person
from tests.survival.pinned import post_to
from tests.survival.rows import Rows
from tests.survival.talk import TERMINAL, Talk, plain

CLOSE_WITHIN_S = 1
"""Daphne says that an application took too long to shut down after 10 s, unless told otherwise."""

BURST = "@demo stream 20000 1 500"
LONG = "@demo stream 20000 6 400"
VERY_LONG = "@demo stream 20000 20 800"
TROUBLE = ("Traceback", "took too long", "Exception", "level='error'")


@pytest.fixture(scope="module")
def site_settings() -> dict[str, Any]:
    return {
        "daphne": ("--application-close-timeout", str(CLOSE_WITHIN_S)),
        "ASGI_THREADS": "1",
        "DJANGO_SETTINGS_MODULE": "tests.survival.collecting_settings",
    }


def open_socket(person: Person, web: Web, *, cookies: bool = True, **options: Any) -> connect:
    return connect(
        f"ws://127.0.0.1:{web.port}/ws/c/{person.key}/",
        origin=web.url,  # type: ignore[arg-type]
        additional_headers={"Cookie": person.cookies} if cookies else {},
        proxy=None,
        compression=None,
        max_size=None,
        **options,
    )


async def say_hello(socket: ClientConnection) -> None:
    await socket.send(json.dumps({"type": "hello", "revision": 0}))


@pytest.fixture
def no_trouble(cluster: Cluster) -> Iterator[None]:
    """Nothing that a site should not say is said during the test."""
    before = [len(web.output) for web in cluster.webs]
    yield
    for web, seen in zip(cluster.webs, before, strict=True):
        for line in web.output[seen:].splitlines():
            assert not any(word in line for word in TROUBLE), line


def streaming(chat: Talk) -> bool:
    return any(bubble.state == "streaming" and len(bubble.text) > 100 for bubble in chat.shown())


async def test_c46_a_browser_that_reads_slowly_has_all_of_a_burst_in_the_end(
    talk: StartTalk,
) -> None:
    async with talk(0) as chat:
        web = chat.person.cluster.running[0]
        async with open_socket(chat.person, web, max_queue=1) as slow:
            await say_hello(slow)
            await chat.send(BURST, echoed=False)
            await chat.settle()
            stored = [plain(row["html"]) for row in chat.rows.messages(chat.person.key)]
            assert len(stored[1]) > 15_000
            view = View()
            async with asyncio.timeout(PATIENCE_S):
                while [" ".join(bubble.text.split()) for bubble in view.order] != stored:
                    view.apply(str(await slow.recv()))
                    await asyncio.sleep(0.02)
        await chat.check()


@pytest.mark.usefixtures("no_trouble")
async def test_c49_a_tab_that_closes_during_a_long_reply_leaves_nothing_behind(
    talk: StartTalk, cluster: Cluster
) -> None:
    async with talk(0) as chat:
        await chat.send(VERY_LONG, echoed=False)
        await chat.until("it streams", lambda: streaming(chat))
        assert listeners(chat, cluster) == 1
        await chat.reader.__aexit__()
        await chat.until("the group is left", lambda: listeners(chat, cluster) == 0)
        requests = await asyncio.to_thread(chat.requests)
        assert requests[0]["state"] not in TERMINAL, "the reply goes on"
        await asyncio.sleep(CLOSE_WITHIN_S + 0.5)
        await chat.reader.__aenter__()
        await chat.settle()
        await chat.check()


def listeners(chat: Talk, cluster: Cluster) -> int:
    """How many processes hear the group of the conversation's pages."""
    row = chat.rows.query("SELECT id FROM chat_conversation WHERE key = {0}", chat.person.key)[0]
    group = f"{public_name(cluster.env['SECRET_KEY'])}__group__conversation.{row['id']}"
    with Redis.from_url(cluster.env["REDIS_URL"]) as redis:
        return int(redis.pubsub_numsub(group)[0][1])


async def test_c50_with_one_thread_many_at_once_are_all_answered(
    talk: StartTalk, cluster: Cluster, other_person: Person
) -> None:
    """A log-out tells the open sockets of its login, from a view: that must not wait for itself."""
    async with talk(0) as chat:
        web = cluster.running[0]
        async with open_socket(other_person, web) as leaving:
            await say_hello(leaving)
            await leaving.recv()
            log_out = other_person.try_once(web, "POST", "/accounts/logout/")
            pages = [chat.person.try_once(web, "GET", f"/c/{chat.person.key}/") for _ in range(8)]
            posts = [post_to(chat, web, f"number {number}") for number in range(8)]
            answers = await asyncio.gather(*pages, log_out, *posts)
            assert {answer.status for answer in answers} == {200, 302}
            await asyncio.wait_for(leaving.wait_closed(), PATIENCE_S)
            assert leaving.close_code == 4401
        order = [request["client_id"] for request in await asyncio.to_thread(chat.requests)]
        chat.sent.sort(key=lambda one: order.index(one.client_id))
        await chat.settle()
        await chat.check()


@pytest.mark.usefixtures("no_trouble")
async def test_c53_who_is_refused_leaves_no_trace(person: Person, cluster: Cluster) -> None:
    for web in cluster.running:
        async with open_socket(person, web, cookies=False) as socket:
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(socket.recv(), PATIENCE_S)
        assert socket.close_code == 4401
    await asyncio.sleep(CLOSE_WITHIN_S + 0.5)


async def test_c56_what_is_pushed_is_there_for_who_looks_at_once(
    talk: StartTalk, cluster: Cluster
) -> None:
    async with talk(0) as chat:
        async with open_socket(chat.person, cluster.running[0]) as socket:
            await say_hello(socket)
            await socket.recv()
            sending = asyncio.create_task(chat.send("look at once"))
            async with asyncio.timeout(PATIENCE_S):
                while "look at once" not in str(await socket.recv()):
                    pass
            asked = await asyncio.to_thread(chat.requests)
            assert [request["text"] for request in asked] == ["look at once"]
            for web in cluster.running:
                page = await chat.person.try_once(web, "GET", f"/c/{chat.person.key}/")
                assert "look at once" in page.body
            await sending
        await chat.settle()
        await chat.check()


async def test_c56_what_is_rolled_back_is_told_to_nobody(
    talk: StartTalk, cluster: Cluster, upstream: Agent
) -> None:
    """The message's row waits for a lock when the connection is ended: the request goes too."""
    async with talk(0) as chat:
        await chat.send("before")
        await chat.settle()
        async with await psycopg.AsyncConnection.connect(cluster.database_url) as locker:
            await locker.execute("LOCK TABLE chat_message IN ACCESS EXCLUSIVE MODE")
            posting = asyncio.create_task(post_to(chat, cluster.running[0], "a ghost"))
            await chat.until("it waits, and is ended", lambda: end_who_inserts(cluster))
            answer = await posting
        assert answer.status == 503
        await chat.send("afterwards")
        await chat.settle()
        await chat.check()
        assert not any("ghost" in bubble.text for bubble in chat.shown())
        assert "ghost" not in json.dumps(upstream.log(chat.rows.upstream_id(chat.person.key)))


def end_who_inserts(cluster: Cluster) -> bool:
    """Whether somebody waited to store a message."""
    ended = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND query LIKE 'INSERT INTO "chat_message"%'
    """
    with psycopg.connect(cluster.database_url, autocommit=True) as admin:
        return bool(admin.execute(ended).fetchall())


@pytest.mark.usefixtures("no_trouble")
async def test_c61_a_reply_streams_on_while_garbage_is_collected(
    talk: StartTalk, cluster: Cluster
) -> None:
    async with talk(0) as chat:
        await chat.send(LONG, echoed=False)
        await chat.settle()
        assert [request["state"] for request in chat.requests()] == ["final"]
        await chat.check()
        assert chat.reader.pushes > 40, "it came bit by bit"


@pytest.mark.usefixtures("no_trouble")
async def test_c64_the_end_of_one_conversation_leaves_another_alone(
    talk: StartTalk, cluster: Cluster, other_person: Person, rows: Rows
) -> None:
    async with talk(0) as chat:
        doomed = Talk(other_person, rows, chat.agent, chat.rng)
        async with doomed.reader:
            await asyncio.gather(chat.send(LONG, echoed=False), doomed.send(LONG, echoed=False))
            await chat.until("both stream", lambda: streaming(chat) and streaming(doomed))
            program = f"User.objects.get(username={other_person.name!r}).delete()"
            await asyncio.to_thread(
                cluster.manage, "shell", "-v", "0", "-c",
                f"from django.contrib.auth.models import User; {program}",
            )  # fmt: skip
            await chat.settle()
            assert [request["state"] for request in chat.requests()] == ["final"]
            await chat.check()
            for web in cluster.running:
                form = f"text=late&client_id={uuid4()}"
                path = f"/c/{other_person.key}/messages/"
                late = await other_person.try_once(web, "POST", path, form)
                assert late.status in (401, 404)
        assert doomed.stored() == []


@pytest.mark.usefixtures("no_trouble")
async def test_c64_a_clear_during_a_reply_stops_it_and_the_next_message_is_answered(
    talk: StartTalk, cluster: Cluster
) -> None:
    async with talk(0) as chat:
        await chat.send(LONG, echoed=False)
        await chat.until("it streams", lambda: streaming(chat))
        await chat.person.post("clear/")
        chat.sent.clear()
        await chat.until("the page is empty", lambda: not chat.shown())
        await chat.send("and then")
        await chat.settle()
        await chat.check()
        assert len(chat.stored()) == 2, "nothing of the cleared reply came back"
