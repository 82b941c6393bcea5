"""`@action`: has a client agent do something, and shows what it answers (WIRE.md 9)."""

from __future__ import annotations

import json

from chat.localagent.agents import ClientAgent
from chat.localagent.connection import RemoteError
from chat.localagent.context import Aborted, CommandContext, text
from chat.localagent.wire import Json, WireError

from .table import Command, Table
from .words import split_words

NOT_ITERABLE = "result.entities is not iterable (cannot read property undefined)"


async def action(context: CommandContext, rest: str) -> None:
    """`@action [--parameters <json>] <agent> <action>`."""
    agent_name, action_name, parameters = _parse(rest)
    agent = context.conversation.agents.get(agent_name)
    known = agent.schema().actions.get(action_name)
    if known is None:
        raise WireError(f"Action schema not found for {agent_name}.{action_name}")
    known.check(parameters)
    run: dict[str, Json] = {"schemaName": agent_name, "actionName": action_name}
    if parameters is not None:
        run["parameters"] = parameters
    context.outcome.actions.append(run)
    await context.pause()
    if not agent.enabled:
        warning = f"Not executed. Action disabled for {agent_name}"
        context.show(text(warning, "warning"))
        return
    context.display.info(context.ref, agent_name, 0, run)
    doing = f"[{context.conversation.icon_of(agent_name)} {agent_name}] Executing action "
    context.show(text(f"{doing}{agent_name}.{action_name}", "status"), "temporary")
    try:
        result = await agent.execute(context, run)
    except RemoteError as error:
        _show_remote_error(context, agent, error)
    else:
        _show_result(context, agent, _completed(run) if result is None else result)


def _parse(rest: str) -> tuple[str, str, Json]:
    words = split_words(rest)
    parameters: Json = None
    if "--parameters" in words:
        at = words.index("--parameters")
        try:
            parameters = json.loads("".join(words[at + 1 : at + 2]))
        except ValueError as error:
            raise WireError(f"Invalid JSON for --parameters: {error}") from error
        del words[at : at + 2]
    if len(words) < 2:
        raise WireError(
            "Missing argument 'actionName'" if words else "Missing argument 'schemaName'"
        )
    return words[0], words[1], parameters


def _completed(run: dict[str, Json]) -> dict[str, Json]:
    said = f"Action {run['schemaName']}.{run['actionName']} completed."
    return {"historyText": said, "entities": [], "displayContent": said}


def _show_remote_error(context: CommandContext, agent: ClientAgent, error: RemoteError) -> None:
    if error.cancelled:
        raise Aborted
    said = str(error)
    extra = {"name": "Error", "rpcFailureKind": "remote"}
    details = {"message": said, "name": "Error", "stack": f"Error: {said}", "extra": extra}
    failure: dict[str, Json] = {"error": said, "errorDetails": details}
    content = text(said, "error")
    if error.markdown is not None:
        content = {"type": "markdown", "content": error.markdown, "kind": "error"}
        failure["errorDisplayContent"] = content
    context.diagnose_result(failure, source=agent.name)
    context.show(content, **agent.about)


def _show_result(context: CommandContext, agent: ClientAgent, result: Json) -> None:
    """Show an action's result of any form. Raises WireError where the real server chokes."""
    context.diagnose_result(_diagnosed(result), source=agent.name)
    if not isinstance(result, dict):
        raise WireError(NOT_ITERABLE)
    if "error" in result:
        if not result.get("fallbackToReasoning"):
            error = text(result["error"], "error")
            context.show(error, **agent.about)
        return
    if "displayContent" in result:
        context.show(result["displayContent"], **agent.about)
    if not isinstance(result.get("entities"), list):
        raise WireError(NOT_ITERABLE)
    if "dynamicDisplayId" in result:
        shown = (result["dynamicDisplayId"], result.get("dynamicDisplayNextRefreshMs"))
        args = [context.ref, agent.name, 0, *shown]
        context.conversation.audience.send("setDynamicDisplay", args, context.request.originator)
    if isinstance(choice := result.get("pendingChoice"), dict):
        _offer(context, agent, choice)


def _diagnosed(result: Json) -> dict[str, Json]:
    """The result as the diagnostic has it: spread like JavaScript spreads a non-object."""
    if isinstance(result, dict):
        kept = {key: value for key, value in result.items() if key != "displayContent"}
        if "displayContent" in result:
            content = result["displayContent"]
            kind = content.get("type") if isinstance(content, dict) else "string"
            kept["displayContentType"] = kind
        return kept
    if isinstance(result, (str, list)):
        return {str(i): part for i, part in enumerate(result)}
    return {}


def _offer(context: CommandContext, agent: ClientAgent, choice: dict[str, Json]) -> None:
    choice_id = str(choice.get("choiceId"))

    async def answered(response: Json) -> None:
        agent.need_choices()
        context.display.info(context.ref, agent.name, 0, None)
        result = await agent.handle_choice(choice_id, response)
        if result is not None:
            _show_result(context, agent, result)

    context.prompts.offer(answered, choice_id)
    if choice.get("type") == "form":
        form = {"fields": choice.get("fields", []), "message": choice.get("message")}
        context.only_me("requestForm", choice_id, form, agent.name)
        return
    asked = (choice.get("type"), choice.get("message"), choice.get("choices") or [])
    context.only_me("requestChoice", choice_id, *asked, agent.name, choice.get("checkboxLabel"))


COMMANDS: Table = {
    ("action",): Command(
        "system", ["action"], action, "Run an action: @action --parameters '{...}' <agent> <action>"
    )
}
