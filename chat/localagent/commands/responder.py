"""Answers plain text without any model, in the frames of the real server's chat agent."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from chat.localagent.context import FAILED, Aborted, CommandContext, text
from chat.localagent.wire import Json

KNOWN_SCHEMAS = frozenset({"chat", "dispatcher"})
USAGE = {"completion_tokens": 0, "prompt_tokens": 0, "total_tokens": 0}
OPENINGS = ("hello", "what", "who", "how")
"""How a request may begin, for completion."""
SUM = r"(?<![\d.-])(-?\d{1,12})(?:\s*([+*x×])\s*|\s+(-)\s+)(-?\d{1,12})(?![\d.-])"
"""A small sum; a minus only between blanks, or it might be part of a date."""
ECHO_CHARS = 400
"""More of a message is not repeated: an answer is streamed word by word."""
HONEST = (
    "I am the **built-in responder** of this site, not a language model: I know a handful of "
    "phrases and the commands below."
)
POINTERS = (
    "- `@help` lists the commands\n"
    "- `@demo` lists displays to try, `@demo stream` shows a long answer\n"
    "- *how do I connect a real agent?* tells how to reach your own agent-server"
)
CONNECT = (
    "To talk to a real TypeAgent agent-server, start this site with its address:\n\n"
    "```sh\nTYPEAGENT_SERVER_URL=ws://127.0.0.1:8999 uv run manage.py serve\n```\n\n"
    "For one behind a dev tunnel use its `wss://` address and set `TYPEAGENT_TUNNEL_TOKEN` too."
)


async def respond(context: CommandContext) -> None:
    """Stream an answer word by word; the whole text replaces it at the end (WIRE.md 12)."""
    said = context.request.text
    context.begin("dispatcher", ["request"])
    active = context.request.options.get("activeSchemas")
    if isinstance(active, list) and not KNOWN_SCHEMAS.intersection(map(str, active)):
        context.outcome.disposition = {"status": "notHandled", "reason": "noActiveSchema"}
        return
    context.display.diagnostic(context.ref, {"type": "translationContext", "entities": []})
    try:
        await context.pause()
        await _answer(context, said, answer_to(said))
    except Aborted:
        context.outcome.disposition = dict(FAILED)
        raise


async def _answer(context: CommandContext, said: str, answer: str) -> None:
    action = {"schemaName": "chat", "actionName": "generateResponse"}
    entities: dict[str, Json] = {"userRequestEntities": [], "generatedTextEntities": []}
    said_and_answered = {"originalRequest": said, "generatedText": answer}
    full = {**action, "parameters": said_and_answered | entities}
    display, ref = context.display, context.ref
    _status(context, f"Translating '{said}'")
    await context.sleep(context.conversation.settings.word_delay_s)
    _status(context, f"Translating '{said}' into action 'generateResponse'")
    display.info(ref, "chat", 0, action)
    for word in re.findall(r"\s*\S+\s?", answer):
        content = {"type": "text", "content": word, "speak": True}
        context.show(content, "inline", source="chat", actionIndex=0)
        await context.sleep(context.conversation.settings.word_delay_s)
    context.show("", "inline", source="chat", actionIndex=0)
    display.info(ref, "chat", 0, full)
    _status(context, "Executing action chat.generateResponse")
    whole = {"type": "text", "content": answer, "speak": False}
    context.replace(whole, source="chat", actionIndex=0)
    context.diagnose_result({"historyText": answer, "entities": []}, source="chat")
    context.outcome.actions.append(full)
    context.outcome.token_usage = context.outcome.action_token_usage = dict(USAGE)
    context.outcome.disposition = {"status": "handled", "path": "action", "schemas": ["chat"]}


def _status(context: CommandContext, what: str) -> None:
    icon = context.conversation.icon_of("chat")
    context.show(text(f"[{icon} chat] {what}", "status"), "temporary", source="dispatcher")


def answer_to(said: str) -> str:
    """What the built-in responder says to a text: markdown, never empty."""
    for pattern, reply in REPLIES:
        if re.search(pattern, said, re.IGNORECASE):
            return reply(said)
    if not said.strip():
        return f"You sent an empty message.\n\n{POINTERS}"
    return f"You said:\n\n{_quoted(said)}\n\n{HONEST}\n\n{POINTERS}"


def _quoted(said: str) -> str:
    text = said.strip()
    short = text if len(text) <= ECHO_CHARS else f"{text[:ECHO_CHARS]}…"
    return "\n".join(f"> {line}" for line in short.splitlines())


def _greeting(_said: str) -> str:
    hour = datetime.now().hour  # noqa: DTZ005 - the user's own time of day
    part = "morning" if 5 <= hour < 12 else "afternoon" if 12 <= hour < 18 else "evening"
    return f"Good {part}! {HONEST}\n\n{POINTERS}"


def _time(_said: str) -> str:
    return f"It is **{datetime.now():%H:%M}** where this server runs."  # noqa: DTZ005


def _date(_said: str) -> str:
    return f"Today is **{datetime.now():%A, %d %B %Y}**."  # noqa: DTZ005


def _sum(said: str) -> str:
    first, sign, minus, second = re.findall(SUM, said)[0]
    a, b = int(first), int(second)
    value = a - b if minus else a + b if sign == "+" else a * b
    return f"{a} {sign or minus} {b} is **{value}**."


def _fixed(reply: str) -> Callable[[str], str]:
    return lambda _said: reply


REPLIES: list[tuple[str, Callable[[str], str]]] = [
    (r"\b(connect|real agent|agent-?server|typeagent)\b", _fixed(CONNECT)),
    (r"^\s*(hi|hello|hey|good (morning|afternoon|evening))\b", _greeting),
    (r"\b(who|what) are you\b|\bare you (a|an) ", _fixed(f"{HONEST}\n\n{POINTERS}")),
    (r"\bwhat can you do\b|^\s*help\b", _fixed(f"{HONEST}\n\n{POINTERS}")),
    (r"\b(what|tell).*\btime\b", _time),
    (r"\b(what|which|tell).*\b(date|day|today)\b", _date),
    (SUM, _sum),
    (r"^\s*(thanks|thank you)\b", _fixed("You are welcome.")),
    (r"^\s*(bye|goodbye)\b", _fixed("Goodbye. Everything said here is still here later.")),
]
