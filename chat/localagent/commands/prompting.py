"""The kinds that ask something: blocking questions and choices that do not block (WIRE.md 7)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from chat.localagent.context import CommandContext
from chat.localagent.wire import Json, WireError

from .table import Run

FORM_FIELDS: list[dict[str, Json]] = [
    {"id": "p", "kind": "pick", "prompt": "colour", "choices": ["r", "g"], "allowFreeText": True},
    {"id": "m", "kind": "multiChoice", "prompt": "many", "choices": ["1", "2"]},
    {"id": "y", "kind": "yesNo", "prompt": "sure?", "defaultValue": True},
]


async def ask(context: CommandContext, _rest: str) -> None:
    """A question of an agent: it has no requestId, so nothing supersedes it."""
    answer = await context.ask("Which?", ["A", "B", "C"], 1, owned=False, source=context.source)
    context.result(f"popup answered {_js(answer)}")


async def ask2(context: CommandContext, _rest: str) -> None:
    """A yes/no question without a default: cancelling it fails the command."""
    question, labels = "Yes or no?", ["Yes", "No"]
    answer = await context.ask(question, labels, None, owned=False, source=context.source)
    context.result(f"popup answered {_js(answer)}")


async def yes_no(context: CommandContext, _rest: str) -> None:
    """A yes/no choice."""

    async def answered(response: Json) -> None:
        _reply(context, f"cb yesno {_js(response)}")
        _conclude(context, f"yesno answered {_js(response)}")

    await _choice(context, answered, "yesNo", "Proceed?")


async def multi(context: CommandContext, _rest: str) -> None:
    """Any number of several."""

    async def answered(response: Json) -> None:
        _conclude(context, f"multi answered {_js(response)}")

    await _choice(context, answered, "multiChoice", "Pick some", ["red", "green", "blue"])


async def pick(context: CommandContext, _rest: str) -> None:
    """One of several, with a box to remember it."""

    async def answered(response: Json) -> None:
        picked = response if isinstance(response, dict) else {}
        selected, remember = _js(picked.get("selected")), _js(picked.get("remember"))
        _conclude(context, f"pick answered {selected} {remember}")

    await _choice(context, answered, "pickRemember", "Pick one", ["a", "b"], "remember this")


async def throwing_choice(context: CommandContext, _rest: str) -> None:
    """A choice whose callback fails: that is the answer's error."""

    async def answered(_response: Json) -> None:
        raise WireError("callback boom")

    await _choice(context, answered, "yesNo", "Throw?")


async def form(context: CommandContext, _rest: str) -> None:
    """Several fields at once."""

    async def answered(response: Json) -> None:
        _conclude(context, f"form answered {_js(response)}")

    await context.pause()
    choice_id = context.offer(answered)
    pending = {"choiceId": choice_id, "type": "form", "message": "A form", "fields": FORM_FIELDS}
    context.diagnose_result({"entities": [], "pendingChoice": pending, **STRING})
    context.show("A form")
    shown = {"fields": FORM_FIELDS, "message": "A form"}
    context.only_me("requestForm", choice_id, shown, context.source)


STRING = {"displayContentType": "string"}


async def _choice(
    context: CommandContext,
    answered: Callable[[Json], Awaitable[None]],
    kind: str,
    message: str,
    choices: list[str] | None = None,
    checkbox: str | None = None,
) -> None:
    await context.pause()
    choice_id = context.offer(answered)
    pending: dict[str, Json] = {"choiceId": choice_id, "type": kind, "message": message}
    pending |= {"choices": choices} if choices else {}
    pending |= {"checkboxLabel": checkbox} if checkbox else {}
    context.diagnose_result({"entities": [], "pendingChoice": pending, **STRING})
    context.show(message)
    context.only_me(
        "requestChoice", choice_id, kind, message, choices or [], context.source, checkbox
    )


def _conclude(context: CommandContext, said: str) -> None:
    context.diagnose_result({"historyText": said, "entities": [], **STRING})
    _reply(context, said)


def _reply(context: CommandContext, said: str) -> None:
    message = context.message(said, actionIndex=0)
    del message["metrics"]
    context.display.append(message, "block")


def _js(value: Json) -> str:
    """As JavaScript prints it into a text."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


PROMPTS: dict[str, Run] = {
    "ask": ask,
    "ask2": ask2,
    "yesno": yes_no,
    "multi": multi,
    "pick": pick,
    "choicethrow": throwing_choice,
    "form": form,
}
