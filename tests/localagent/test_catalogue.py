"""The names of conversations, by the shared vectors `naming.server_*` and WIRE.md 4."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chat.localagent.catalogue import Catalogue
from chat.localagent.wire import UNDEFINED, WireError
from tests.shared import load_vectors, requires_shared

CASES = [case for case in load_vectors("naming") if case["id"].startswith("naming.server_")]


@requires_shared
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_name_is_resolved_as_in_the_vectors(case: dict[str, Any], tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    given = case["input"]
    ids = {name: catalogue.create(name).id for name in given["existing"]}
    collision = given.get("nameCollisionBehavior")

    def resolve() -> str:
        if given["op"] == "serverCreate":
            return catalogue.create(given["name"], collision).name
        catalogue.rename(ids[given["target"]], given["newName"], collision)
        return catalogue.get(ids[given["target"]]).name

    if "$errorContains" in case["expect"]:
        with pytest.raises(WireError, match=case["expect"]["$errorContains"]):
            resolve()
    else:
        assert resolve() == case["expect"]["name"]
    catalogue.close()


@requires_shared
def test_there_are_vectors_to_go_by() -> None:
    assert len(CASES) >= 7


@pytest.mark.parametrize(
    ("name", "error"),
    [
        (UNDEFINED, "Cannot read properties of undefined (reading 'length')"),
        (None, "Cannot read properties of null (reading 'length')"),
        (5, "name.trim is not a function"),
        ("", "Conversation name must be between 1 and 256 characters"),
        ("x" * 257, "Conversation name must be between 1 and 256 characters"),
    ],
)
def test_a_bad_name_is_refused_in_the_real_servers_words(
    tmp_path: Path, name: object, error: str
) -> None:
    with pytest.raises(WireError) as raised:
        Catalogue(tmp_path).create(name)
    assert str(raised.value) == error


def test_an_unknown_collision_behaviour_is_named(tmp_path: Path) -> None:
    with pytest.raises(WireError, match="Unknown name collision behavior: zzz"):
        Catalogue(tmp_path).create("a", "zzz")


def test_the_default_is_the_one_so_named_whatever_the_case(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    catalogue.create("first")
    named = catalogue.create("Default")
    assert catalogue.default() is named
    catalogue.close()


def test_without_that_name_the_default_is_the_first(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    first = catalogue.create("first")
    catalogue.create("second")
    assert catalogue.default() is first
    catalogue.close()


def test_changes_are_read_again(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    kept, gone = catalogue.create("kept"), catalogue.create("gone")
    catalogue.rename(kept.id, "renamed")
    catalogue.delete(gone.id)
    catalogue.close()
    assert [(r.id, r.name) for r in Catalogue(tmp_path)] == [(kept.id, "renamed")]


def test_the_likest_name_is_found_first(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    for name in ("beta", "alpha two", "my alpha", "Alpha"):
        catalogue.create(name)
    found = [(record.name, score) for record, score in catalogue.find("alpha", None)]
    assert found == [("Alpha", 1), ("alpha two", 0.9), ("my alpha", 0.8)]
    assert [record.name for record, _ in catalogue.find("alpha", 1)] == ["Alpha"]
    assert catalogue.find(None, None) == []
    catalogue.close()
