"""C57: a clear by another process reaches the open pages, which it cannot tell."""

from __future__ import annotations

import asyncio

from tests.pages.forms import Document
from tests.pages.visitor import hello, visitors
from tests.processes import PATIENCE_S, Site

CLEAR = """
from chat.models import Conversation
from chat.transcript import store
store.clear(Conversation.objects.get(key={key!r}).pk)
"""


async def test_c57_a_clear_from_a_command_empties_an_open_page(live: Site) -> None:
    (visitor,) = await asyncio.to_thread(visitors, live, "clear-elsewhere")
    async with visitor.socket() as socket, asyncio.timeout(PATIENCE_S):
        await hello(socket)
        await asyncio.to_thread(visitor.send, "hello", "one")
        while 'data-role="agent" data-state="final"' not in str(await socket.recv()):
            continue
        clear = CLEAR.format(key=visitor.key)
        await asyncio.to_thread(live.manage, "shell", "-v", "0", "-c", clear)
        while True:
            manifests = Document(str(await socket.recv())).all(id="manifest")
            if any(m.attributes["data-reset"] == "1" for m in manifests):
                break
        assert manifests[0].attributes["data-uids"] == ""
        page = await asyncio.to_thread(visitor.get, visitor.page)
        assert Document(page.text).messages == []
        # What the agent-server remembers does not come back, and the page goes on.
        await asyncio.to_thread(visitor.send, "again", "two")
        while 'data-role="agent" data-state="final"' not in str(await socket.recv()):
            continue
    asked = live.query(
        "SELECT text FROM chat_request JOIN chat_conversation c ON c.id = conversation_id"
        " WHERE c.key = ?",
        visitor.key,
    )
    assert asked == [("again",)]
