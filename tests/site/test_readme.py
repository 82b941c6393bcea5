"""The README and the project's files say the same as the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from chatsite import env, settings
from tests.processes import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMMANDS = ["pip install uv && uv run manage.py serve", "pip install uv && uv run pytest"]


def settings_table() -> dict[str, str]:
    """The names of the README's table of settings, each with its row's default."""
    section = README.partition("## Settings")[2].partition("\n## ")[0]
    rows: dict[str, str] = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            names, default, _meaning = line.strip("| ").split(" | ")
            rows.update(dict.fromkeys(re.findall(r"`(\w+)`", names), default))
    return rows


def test_the_table_has_every_setting_that_is_read_and_no_other() -> None:
    assert settings.SITE_DATA  # they have been read
    assert set(settings_table()) == set(env.READ)


def test_the_table_has_the_defaults() -> None:
    table = settings_table()
    read = {name: default or "none" for name, default in env.READ.items()}
    own_rows = {name for name in read if not name.endswith("_FILE")}
    assert {name: table[name] for name in own_rows} == {name: read[name] for name in own_rows}


def test_each_of_the_two_commands_stands_alone_on_a_line() -> None:
    lines = README.splitlines()
    assert [line for line in lines if line in COMMANDS] == COMMANDS


def test_the_pictures_are_there() -> None:
    pictures = re.findall(r'<img src="([^"]+)"', README)
    assert pictures
    assert [path for path in pictures if not (ROOT / path).is_file()] == []


def test_every_command_of_ours_is_named() -> None:
    files = (ROOT / "chat/management/commands").glob("[a-z]*.py")
    assert [file.stem for file in files if file.stem not in README] == []


def test_the_changelogs_newest_version_is_the_projects() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (\S+)", changelog, re.MULTILINE)
    assert versions[0] == PROJECT["project"]["version"]


def test_both_lists_of_pinned_versions_are_the_same() -> None:
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    assert pinned == PROJECT["tool"]["uv"]["constraint-dependencies"]
    assert [pin for pin in pinned if not re.fullmatch(r"[\w.-]+==[\w.+!]+", pin)] == []


def test_ci_runs_the_readmes_own_test_command() -> None:
    script = Path(ROOT / ".ci/run").read_text(encoding="utf-8")
    assert script.rstrip().endswith("\nuv run pytest")
