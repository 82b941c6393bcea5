"""The socket as a browser meets it: through the real server, over a real port."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.pages.visitor import Visitor, hello, visitors
from tests.processes import PATIENCE_S, Site


@pytest.fixture(scope="module")
def visitor(live: Site) -> Visitor:
    return visitors(live, "real-socket")[0]


def address(visitor: Visitor, path: str = "") -> str:
    return visitor.site.url.replace("http", "ws", 1) + (path or f"/ws{visitor.page}")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", None])
async def test_c55_another_sites_page_gets_a_403(visitor: Visitor, origin: str | None) -> None:
    headers = {"Cookie": f"sessionid={visitor.session}"}
    if origin is not None:
        headers["Origin"] = origin
    with pytest.raises(InvalidStatus) as refused:
        async with connect(address(visitor), additional_headers=headers, proxy=None):
            pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    ("path", "signed_in", "code"),
    [("", False, 4401), ("/ws/c/no-such/", True, 4404), ("/ws/c/./", True, 4404)],
)
async def test_a_close_code_says_why(
    visitor: Visitor, path: str, signed_in: bool, code: int
) -> None:
    cookies = {"Cookie": f"sessionid={visitor.session}"} if signed_in else {}
    headers = {**cookies, "Origin": visitor.site.url}
    async with (
        asyncio.timeout(PATIENCE_S),
        connect(address(visitor, path), additional_headers=headers, proxy=None) as socket,
    ):
        with pytest.raises(ConnectionClosed):
            await socket.recv()
        assert socket.close_code == code


async def test_c52_junk_leaves_the_socket_usable(visitor: Visitor) -> None:
    async with asyncio.timeout(PATIENCE_S), visitor.socket() as socket:
        for junk in ("not json", "null", "[]", '{"type":42}', "x" * 60_000, b"\x00\xff"):
            await socket.send(junk)
        await socket.send('{"type":"ping","n":"\\ud800"}')
        assert 'data-n="\ufffd"' in str(await socket.recv())


async def test_c52_a_frame_of_two_megabytes_costs_that_socket_only(visitor: Visitor) -> None:
    async with asyncio.timeout(PATIENCE_S):
        async with visitor.socket() as socket:
            with contextlib.suppress(ConnectionClosed):
                await socket.send("x" * 2_000_000)
            with pytest.raises(ConnectionClosed):
                await socket.recv()
        async with visitor.socket() as socket:
            await hello(socket)
            assert 'id="manifest"' in str(await socket.recv())
    assert visitor.site.process.poll() is None


async def test_c54_a_log_out_closes_the_other_tab(live: Site) -> None:
    (visitor,) = await asyncio.to_thread(visitors, live, "logs-out")
    async with asyncio.timeout(PATIENCE_S), visitor.socket() as tab:
        await hello(tab)
        await tab.recv()
        await asyncio.to_thread(visitor.post, "/accounts/logout/", {})
        await tab.wait_closed()
        assert tab.close_code == 4401
    sent = await asyncio.to_thread(visitor.send, "hello", "one")
    assert sent.status in (401, 403)
