"""The vectors of `reconnect` that are about the client, against a scripted server."""

from __future__ import annotations

import pytest

from chat.agentserver.errors import ConnectFailed
from chat.agentserver.events import Json
from tests.agentserver.conftest import Client, MakeClient
from tests.agentserver.scripted import ScriptedServer
from tests.transcript.vectors import Case, params, table

CASES = table("reconnect")
SKIPPED = {
    name: "the bar of the chat panel; the site's own connection status: tests/page"
    for name in CASES
    if name.startswith("view_")
}


class Steps:
    """Does the steps of a case. An attempt that fails raises here; the cases call that false."""

    def __init__(self, client: Client, server: ScriptedServer, names: list[str]) -> None:
        self.client = client
        self.server = server
        server.answers["listConversations"] = [{"name": name} for name in names]

    async def do(self, step: str, expect: Json) -> None:
        match step:
            case "connect":
                await self.client.connect()
            case "reconnect while the first socket is open" | "reconnect":
                assert await self.reconnect() is expect
            case "listConversations":
                found = await self.client.list_conversations()
                assert [conversation["name"] for conversation in found] == expect
            case "drop" | "server drops every socket, keeps listening":
                closes = len(self.client.closes)
                self.server.drop()
                await self.client.until_closed(closes + 1)
                self.check_closes(expect)
            case "wait 100 ms for the old socket's close":
                await self.server.wait_until(lambda: self.server.live == 1)
                self.check_closes(expect)
            case "server stops":
                await self.server.stop()
                await self.client.until_closed()
            case "close":
                await self.client.close()
            case "joinConversation":
                assert (await self.client.join()).conversation_id == expect
            case "close the joined conversation":
                await self.client.leave("c1")
            case unknown:
                pytest.fail(f"no such step: {unknown}")

    async def reconnect(self) -> bool:
        try:
            await self.client.connect()
        except ConnectFailed:
            return False
        return True

    def check_closes(self, expect: Json) -> None:
        if expect is None:
            return
        closes = expect["onDisconnect"]
        if isinstance(closes, dict):
            assert len(self.client.closes) >= closes["$atLeast"]
        else:
            assert len(self.client.closes) == closes
        assert self.server.live == expect.get("serverLiveSockets", self.server.live)


@pytest.mark.parametrize("case", params(CASES, SKIPPED))
async def test_reconnect(case: Case, server: ScriptedServer, make_client: MakeClient) -> None:
    steps = Steps(make_client(), server, case["input"]["setup"].get("list", []))
    for step in case["input"]["steps"]:
        await steps.do(step["do"], step["expect"])
