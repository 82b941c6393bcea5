"""The least that can show a streamed answer: a relay that appends its plain text to a page.

Run as `python -m tests.benchmarks.relay AGENT_URL`; prints the address of its page.
"""

from __future__ import annotations

import asyncio
import json
import sys
from http import HTTPStatus
from typing import Any

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

PAGE = b"""<!doctype html><meta charset="utf-8"><title>relay</title><pre id="answer"></pre>
<script>
  const answer = document.getElementById("answer");
  const socket = new WebSocket("ws://" + location.host + "/socket");
  socket.onmessage = ({ data }) => {
    if (data === "\\u0000") document.body.dataset.state = "final";
    else answer.append(data);
  };
  window.ask = (text) => socket.send(text);
  socket.onopen = () => (document.body.dataset.state = "ready");
</script>"""


def page(connection: ServerConnection, request: Request) -> Response | None:
    """The page for everything but the socket."""
    if request.path == "/socket":
        return None
    headers = Headers(
        {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(PAGE))}
    )
    return Response(HTTPStatus.OK, "OK", headers, PAGE)


async def relay(agent_url: str, browser: ServerConnection) -> None:
    """Ask what the browser asks, and forward each piece of the answer as it comes."""
    async with connect(agent_url, proxy=None, compression=None, max_size=2**24) as agent:
        await invoke(
            agent,
            "agent-server",
            "createConversation",
            "relay",
            {"nameCollisionBehavior": "appendNumber"},
        )
        made = await answer_of(agent)
        conversation = made["conversationId"]
        await invoke(agent, "agent-server", "joinConversation", {"conversationId": conversation})
        await answer_of(agent)
        async for text in browser:
            await invoke(agent, f"dispatcher:{conversation}", "submitCommand", text)
            async for frame in agent:
                message = json.loads(frame)["message"]
                if message.get("name") == "appendDisplay" and message["args"][1] == "inline":
                    content = message["args"][0]["message"]
                    piece = content if isinstance(content, str) else content["content"]
                    if piece:
                        await browser.send(piece)
                elif message.get("name") == "notify" and message["args"][1] == "commandComplete":
                    await browser.send("\0")
                    break


async def invoke(agent: Any, channel: str, method: str, *args: Any) -> None:
    call = {"type": "invoke", "callId": 0, "name": method, "args": list(args)}
    await agent.send(json.dumps({"name": channel, "message": call}))


async def answer_of(agent: Any) -> Any:
    """The result of the call that is under way."""
    async for frame in agent:
        message = json.loads(frame)["message"]
        if message["type"] == "invokeResult":
            return message["result"]
    raise ConnectionError("the agent-server closed")


async def main(agent_url: str) -> None:
    async def handle(browser: ServerConnection) -> None:
        await relay(agent_url, browser)

    async with serve(handle, "127.0.0.1", 0, process_request=page) as server:
        port = server.sockets[0].getsockname()[1]
        print(f"http://127.0.0.1:{port}/", flush=True)  # noqa: T201 - the caller reads it
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
