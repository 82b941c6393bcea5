"""Opening the socket: the tunnel token, refusals, and what is told of them."""

from __future__ import annotations

import asyncio
import logging
import traceback

import pytest

from chat.agentserver.errors import ConnectFailed, TunnelAuthFailed
from tests.agentserver.conftest import Client, MakeClient
from tests.agentserver.scripted import ScriptedServer

TOKEN = "s3cret-t0ken"


async def failure(client: Client) -> ConnectFailed:
    with pytest.raises(ConnectFailed) as caught:
        await client.connect()
    assert not client.connected
    return caught.value


def everything_told(error: BaseException, caplog: pytest.LogCaptureFixture) -> str:
    """Whatever of the error and of the log could reach a reader."""
    chain = f"{error!r} {error.__cause__!r} {error.__context__!r}"
    return "".join(traceback.format_exception(error)) + chain + caplog.text


async def test_the_token_goes_into_its_header_and_nowhere_else(
    server: ScriptedServer, make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        client = make_client(token=TOKEN)
        await client.connect()
        await client.join()
        server.drop()
        await client.until_closed()
        await client.connect()
        await client.close()
    for headers in server.upgrades:
        holders = [(name, value) for name, value in headers.raw_items() if TOKEN in value]
        assert holders == [("X-Tunnel-Authorization", f"tunnel {TOKEN}")]
    assert len(server.upgrades) == 2
    assert not [data for data in server.raw if TOKEN in str(data)]
    assert TOKEN not in caplog.text
    assert server.url not in caplog.text
    assert TOKEN not in repr(client)


async def test_no_token_means_no_header(server: ScriptedServer, make_client: MakeClient) -> None:
    await make_client().connect()
    assert "X-Tunnel-Authorization" not in server.upgrades[0]


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_token_is_told_as_such(
    status: int,
    server: ScriptedServer,
    make_client: MakeClient,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.refuse_with = status
    with caplog.at_level(logging.DEBUG):
        error = await failure(make_client(token=TOKEN))
    assert isinstance(error, TunnelAuthFailed)
    assert str(error) == "Tunnel auth failed. Check token."
    told = everything_told(error, caplog)
    assert TOKEN not in told
    assert str(server.port) not in told


@pytest.mark.parametrize("status", [302, 404, 500, 502])
async def test_any_other_refusal_is_a_failed_connection(
    status: int,
    server: ScriptedServer,
    make_client: MakeClient,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.refuse_with = status
    error = await failure(make_client(token=TOKEN))
    assert not isinstance(error, TunnelAuthFailed)
    assert f"HTTP {status}" in str(error)
    told = everything_told(error, caplog)
    assert TOKEN not in told
    assert str(server.port) not in told


async def test_a_redirect_does_not_carry_the_token_away(
    server: ScriptedServer, make_client: MakeClient
) -> None:
    async with ScriptedServer() as elsewhere:
        server.refuse_with, server.location = 302, elsewhere.url
        assert "HTTP 302" in str(await failure(make_client(token=TOKEN)))
        assert elsewhere.upgrades == []


async def test_nobody_listening_is_a_failed_connection(
    server: ScriptedServer, make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    await server.stop()
    error = await failure(make_client(token=TOKEN))
    assert str(error) == "The agent-server cannot be reached."
    assert str(server.port) not in everything_told(error, caplog)


async def test_a_server_that_never_answers_the_upgrade_is_given_up(
    server: ScriptedServer, make_client: MakeClient
) -> None:
    server.hang_upgrades = True
    error = await failure(make_client(connect_timeout_s=0.05))
    assert str(error) == "The agent-server did not answer in time."


async def test_what_speaks_another_protocol_is_no_agent_server(make_client: MakeClient) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.org ESMTP\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        error = await failure(make_client(f"ws://127.0.0.1:{port}/"))
    assert str(error) == "What answered is not an agent-server."


@pytest.mark.parametrize("url", ["", "agent.example:8999", "http://agent.example/", "ws://"])
async def test_an_address_must_be_one_of_a_web_socket(
    url: str, make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client("ws://x/")
    client._url = url  # the fixture takes an empty address for none
    error = await failure(client)
    assert str(error) == "The agent-server's address is not a ws:// or wss:// address."
    assert "agent.example" not in everything_told(error, caplog)


@pytest.mark.parametrize("token", ["a b", "a\r\nX-Evil: 1", "té"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="tunnel token") as caught:
        Client("ws://127.0.0.1:1/", token=token)
    assert token not in str(caught.value)


async def test_a_proxy_of_the_environment_is_not_used(
    server: ScriptedServer, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("all_proxy", "http_proxy", "https_proxy", "ws_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    await make_client().connect()
    assert server.live == 1
    assert "Sec-WebSocket-Extensions" not in server.upgrades[0]
