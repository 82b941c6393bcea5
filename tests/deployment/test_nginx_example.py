"""The README's nginx example, as it stands there, in front of two processes."""

from __future__ import annotations

import asyncio
import contextlib
from uuid import uuid4

import pytest
from websockets.exceptions import ConnectionClosed

from tests.deployment.conftest import MAKE_USER, PASSWORD, MakeGuest
from tests.deployment.guest import Guest, Tab
from tests.deployment.nginx import Nginx
from tests.pages.forms import Document
from tests.processes import Agent
from tests.survival.cluster import Cluster
from tests.survival.rows import Rows

LOCKED_AFTER = 6
LOCKED = 429


def peak(cluster: Cluster, upstream: Agent, key: str) -> int:
    """The most clients that a conversation ever had at the agent-server."""
    name = Rows(cluster.database_url).upstream_id(key)
    joins = [line.split() for line in upstream.lines if line.startswith("joined: ")]
    return max(int(clients) for _, joined, clients in joins if joined == name)


def test_nginx_takes_it(nginx: Nginx) -> None:
    assert "test is successful" in nginx.check()


async def test_whichever_process_is_killed_the_pages_come_back_and_go_on(
    nginx: Nginx, make_guest: MakeGuest, cluster: Cluster, upstream: Agent
) -> None:
    alice = await asyncio.to_thread(make_guest, nginx, "alice")
    async with Tab(alice) as first, Tab(alice) as second:
        await ask(alice, "before", first, second)
        for number, web in enumerate(cluster.webs):
            await asyncio.to_thread(web.kill)
            await ask(alice, f"without {number}", first, second)
            await asyncio.to_thread(web.start)
        # Each was at one of them at least.
        assert min(first.opened, second.opened) >= 2
        for tab in (first, second):
            questions = [bubble.text for bubble in tab.order if bubble.role == "user"]
            assert questions == ["before", "without 0", "without 1"]
    assert peak(cluster, upstream, alice.key) == 1


async def ask(guest: Guest, question: str, *tabs: Tab) -> None:
    """Send it and wait until every tab shows the answer, which repeats the question."""
    sent = await asyncio.to_thread(guest.send, question, str(uuid4()))
    assert sent.status == 200, sent
    for tab in tabs:
        await tab.until_answered(question)


async def test_an_answer_of_more_than_a_mebibyte_arrives(
    nginx: Nginx, make_guest: MakeGuest
) -> None:
    bob = await asyncio.to_thread(make_guest, nginx, "bob")
    async with Tab(bob) as tab:
        assert (await asyncio.to_thread(bob.send, "@demo big 1500", "one")).status == 200
        await tab.until_answered_at_length(1_100_000)


def test_a_message_that_is_too_long_is_refused_in_words(
    nginx: Nginx, make_guest: MakeGuest
) -> None:
    guest = make_guest(nginx, "writes-much")
    answer = guest.send("x" * 3_000_000, "one")
    assert answer.status == 422
    error = Document(answer.text).one(id="composer-error").text
    assert "This message has 3 MB. A message can have 20 kB at most." in error
    assert guest.send("x" * 5_000_000, "two").status == 413


def test_a_made_up_address_does_not_escape_the_lock_after_wrong_passwords(
    nginx: Nginx, cluster: Cluster
) -> None:
    cluster.manage("shell", "-v", "0", "-c", MAKE_USER.format("victim", PASSWORD))
    guesser = Guest(nginx)
    for number in range(LOCKED_AFTER):
        guesser.forged = {"X-Forwarded-For": f"192.0.2.{number}"}
        guesser.log_in("victim", "wrong")
    guesser.forged = {"X-Forwarded-For": "192.0.2.200"}
    assert guesser.log_in("victim", PASSWORD).status == LOCKED
    # The lock is for that address alone: it is not the proxy's that counts.
    elsewhere = Guest(nginx, source="127.0.0.2")
    elsewhere.forged = {"X-Forwarded-For": "127.0.0.1"}
    assert elsewhere.log_in("victim", PASSWORD).status == 302


def test_what_only_balancers_ask_is_not_shown(nginx: Nginx) -> None:
    guest = Guest(nginx)
    assert [guest.get(path).status for path in ("/metrics", "/readyz", "/healthz")] == [
        *(404, 404, 200)
    ]


def test_the_access_log_has_no_log_in_link(nginx: Nginx) -> None:
    Guest(nginx).get("/accounts/one-time/?sesame=a-secret")
    nginx.stop()
    log = nginx.access_log.read_text(encoding="utf-8")
    assert '"GET /accounts/one-time/" 403' in log
    assert "a-secret" not in log


async def silence(guest: Guest, for_s: float) -> bool:
    """Whether an attached page's socket lives through that time in which neither side speaks."""
    async with guest.socket() as socket:
        await socket.send('{"type":"hello","revision":0}')
        with contextlib.suppress(TimeoutError, ConnectionClosed):
            async with asyncio.timeout(for_s):
                await socket.wait_closed()
                return False
        await socket.send('{"type":"ping","n":1}')
        while 'data-n="1"' not in str(await socket.recv()):
            pass
        return True


@pytest.mark.soak
async def test_c37_a_page_that_is_silent_for_70_seconds_stays_connected(
    nginx: Nginx, make_guest: MakeGuest
) -> None:
    quiet = await asyncio.to_thread(make_guest, nginx, "quiet")
    assert await silence(quiet, 70)
