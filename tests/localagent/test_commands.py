"""The commands: each shows something, ends, and is in the help."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat.localagent import LocalAgent, Settings
from chat.localagent.commands import COMMANDS, find
from chat.localagent.commands.demo import DEMOS
from chat.localagent.commands.words import split_words
from chat.localagent.completion import complete

from .client import wire

ASKING = {"ask", "ask2", "question"}
SILENT = {"nothing", "notify", "take", "diag"}


@pytest.mark.parametrize("kind", sorted(DEMOS.keys() - ASKING))
async def test_every_kind_of_demo_shows_something_and_ends(agent: LocalAgent, kind: str) -> None:
    async with wire(agent.url) as client:
        await client.run(f"@demo {kind}")
        assert bool(client.shown()) != (kind in SILENT)


async def test_demo_alone_lists_the_kinds(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await client.run("@demo")
        (shown,) = client.shown()
        assert all(f"`@demo {kind}`" in shown["content"] for kind in DEMOS)


@pytest.mark.parametrize(("answer", "said"), [(0, "You chose: Tea"), (77, "You chose: 77")])
async def test_a_demo_question_waits_for_its_answer(
    agent: LocalAgent, answer: int, said: str
) -> None:
    async with wire(agent.url) as client:
        await client.submit("@demo question")
        (asked,) = await client.event("requestInteraction")
        reply = {"interactionId": asked["interactionId"], "type": "question", "value": answer}
        await client.ask("respondToInteraction", reply)
        await client.complete()
        assert client.shown() == [said]


@pytest.mark.parametrize("kilobytes", [1, 100])
async def test_a_big_display_has_the_asked_size(agent: LocalAgent, kilobytes: int) -> None:
    async with wire(agent.url) as client:
        await client.run(f"@demo big {kilobytes}")
        assert len(client.shown()[0]["content"]) == kilobytes * 1_000


async def test_slow_gives_a_sign_of_life_each_second(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await client.run("@slow 3")
        modes = [args[1] for args in client.calls("appendDisplay")]
        assert modes == ["temporary", "temporary", "temporary", "block"]


async def test_slow_stops_when_cancelled_by_the_clients_own_id(tmp_path: Path) -> None:
    async with LocalAgent(tmp_path, Settings()).serving() as server, wire(server.url) as client:
        await client.submit("@slow 600", "mine")
        await client.submit("@slow 600", "other")
        await client.call("cancelCommandByClientId", "mine")
        assert (await client.complete("mine"))["cancelled"] is True
        await client.call("cancelCommandByClientId", "other")
        assert (await client.complete("other"))["cancelled"] is True


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("@fail", "ERROR: this command always fails"),
        ("@fail at this", "ERROR: at this"),
        ("@demo error", "ERROR: this is what an error looks like"),
        ("@test show throw", "ERROR: boom from agent"),
        ("@test show err", "returned error text"),
        ("@action", "ERROR: Missing argument 'schemaName'"),
        ("@action phone", "ERROR: Missing argument 'actionName'"),
        ("@action phone dial", "ERROR: Invalid schema name phone"),
        ("@action --parameters {x phone dial", "ERROR: Invalid JSON for --parameters"),
        ("@conversation bogus", "ERROR: 'bogus' is not a subcommand for '@conversation'."),
        ("@test show zzz", "There is no kind 'zzz'"),
    ],
)
async def test_a_failure_is_the_last_error(agent: LocalAgent, text: str, error: str) -> None:
    async with wire(agent.url) as client:
        assert (await client.run(text))["lastError"].startswith(error)


@pytest.mark.parametrize("text", ["@", "@nosuch", "@ help", "@demo2"])
async def test_what_is_no_command_says_so(agent: LocalAgent, text: str) -> None:
    async with wire(agent.url) as client:
        result = await client.run(text)
        if text == "@ help":
            assert "lastError" not in result
        else:
            assert result["lastError"].startswith("ERROR: Command or agent name required.")
            assert result["disposition"]["status"] == "failed"


async def test_an_unforeseen_fault_fails_only_its_command(
    agent: LocalAgent, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with wire(agent.url) as client:
        monkeypatch.setattr("chat.localagent.commands.demo.demo_text", None)
        assert "not callable" in (await client.run("@demo stream"))["lastError"]
        assert "lastError" not in await client.run("@demo text", "next")
    assert "a command failed" in caplog.text


async def test_help_lists_every_command_that_explains_itself(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await client.run("@help")
        listed = {row[0] for row in client.shown()[-1][1:]}
        assert listed == {" ".join(w) for w, command in COMMANDS.items() if command.help}


async def test_display_shows_a_text(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        await client.run("@display  hello there")
        assert client.shown() == [{"type": "text", "content": "hello there", "speak": False}]


async def test_a_dynamic_display_ends_after_three_refreshes(agent: LocalAgent) -> None:
    async with wire(agent.url) as client:
        args = ("test", "text", "dyn-1")
        waits = [(await client.ask("getDynamicDisplay", *args))["nextRefreshMs"] for _ in range(3)]
        assert waits == [500, 500, -1]


def test_the_longest_matching_words_are_the_command() -> None:
    found = find("Clear DEEP now please")
    assert found is not None
    assert (found[0].action, found[1]) == (["clear", "deep"], "now please")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("new 'two words' x", ["new", "two words", "x"]),
        ('--parameters {"a":"b"} agent', ["--parameters", '{"a":"b"}', "agent"]),
        ('say ""', ["say", ""]),
        ("", []),
    ],
)
def test_quotes_group_words(line: str, words: list[str]) -> None:
    assert split_words(line) == words


@pytest.mark.parametrize(
    ("typed", "start", "offered"),
    [
        ("", 0, "hello"),
        ("@", 1, "help"),
        ("@nosuch ", 1, "help"),
        ("@session ", 9, "delete"),
        ("@demo ", 6, "stream"),
        ("@test show ", 11, "yesno"),
        (None, 0, "@"),
    ],
)
def test_completion_offers_what_may_follow(typed: str | None, start: int, offered: str) -> None:
    completion = complete(typed)
    assert completion["startIndex"] == start
    assert any(offered in group["completions"] for group in completion["completions"])
