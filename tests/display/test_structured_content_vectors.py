"""The agents' own cases of structured content, one test each: what they make is what we read."""

from __future__ import annotations

from typing import Any

import pytest

from chat.display.content import parse_content, plain_text
from chat.display.structured.fallback import to_markdown, to_text
from chat.display.structured.reading import read_blocks
from chat.display.words import Json
from tests.display.dom import Dom
from tests.display.make import drawn, shown
from tests.shared import load_vectors, requires_shared
from tests.transcript.vectors import Case, params, table

CASES = table("structured_content")

FORMS = "a form of questions, which is no content: the prompts have their own tests"
RECORDS = "the rawData of the records is the agents' own affair"
NOT_DRAWN = {
    "from_records_raw_override": RECORDS,
    **{name: FORMS for name in CASES if name.startswith(("form_", "single_"))},
}


def op(*names: str) -> dict[str, Case]:
    return {name: case for name, case in CASES.items() if case["input"]["op"] in names}


TABLES = op("createTable", "fromRecords")
MADE = op("createStructured", "createStructuredResult")
DETECTED = op("isStructured")
DERIVED = op("toMarkdown", "toText")
FALLBACKS = op("fallback")


def test_every_case_is_tested_or_listed_with_a_reason() -> None:
    tested = set(TABLES) | set(MADE) | set(DETECTED) | set(DERIVED) | set(FALLBACKS)
    assert set(CASES) == tested | set(NOT_DRAWN)


@requires_shared
def test_the_copied_table_is_the_shared_one() -> None:
    assert list(CASES.values()) == load_vectors("structured_content")


def derived(blocks: Json) -> dict[str, str]:
    return {"markdown": to_markdown(read_blocks(blocks)), "text": to_text(read_blocks(blocks))}


def words(cell: Any) -> str:
    return str(cell["text"] if isinstance(cell, dict) else cell)


@pytest.mark.parametrize("case", params(TABLES, NOT_DRAWN))
def test_a_table_that_an_agent_makes_is_drawn(case: Case) -> None:
    """The expected JSON is what comes from the wire; what it leaves out stands in the input."""
    expect = case["expect"]
    made = expect["blocks"][0] if "blocks" in expect else {**case["input"], **expect}
    block = {"kind": "table", **made, **case["input"].get("options", {})}
    dom = shown({"type": "structured", "blocks": [block]})
    assert [cell.text for cell in dom.all("th")] == [each["header"] for each in made["columns"]]
    rows = [words(cell) for row in made["rows"] for cell in row]
    assert [cell.text for cell in dom.all("td")] == rows
    assert dom.hrefs() == [
        cell["href"] for row in made["rows"] for cell in row if isinstance(cell, dict)
    ]
    assert [caption.text for caption in dom.all("caption")] == (
        [expect["caption"]] if "caption" in expect else []
    )
    # A table that is only to be read cannot be filtered or sorted, whatever else it says.
    assert not (expect.get("readonly") and dom.with_class("filterable"))


@pytest.mark.parametrize("case", params(MADE, NOT_DRAWN))
def test_what_an_agent_attaches_is_what_we_derive(case: Case) -> None:
    blocks, expect = case["input"]["blocks"], case["expect"]
    for alternate in expect.get("alternates", []):
        assert derived(blocks)[alternate["type"]] == alternate["content"]
    if "historyText" in expect and "options" not in case["input"]:
        assert derived(blocks)["text"] == expect["historyText"]
    segment = parse_content(
        {**expect.get("displayContent", {}), "blocks": blocks, "type": "structured"}
    )
    assert segment is not None
    assert (segment.type, segment.kind) == ("structured", None)
    data = [each.attributes["data-raw"] for each in drawn(segment).with_class("data")]
    assert data == (["[1, 2, 3]"] if "displayContent" in expect else [])


@pytest.mark.parametrize("case", params(DETECTED))
def test_only_an_object_of_that_type_is_structured(case: Case) -> None:
    segment = parse_content(case["input"]["content"])
    assert segment is not None
    assert (segment.type == "structured") is case["expect"]


@pytest.mark.parametrize("case", params(DERIVED))
def test_markdown_and_text_are_derived_as_the_original_does(case: Case) -> None:
    form = "markdown" if case["input"]["op"] == "toMarkdown" else "text"
    assert derived(case["input"]["blocks"])[form] == case["expect"]


@pytest.mark.parametrize("case", params(FALLBACKS))
def test_a_fallback_says_what_the_blocks_say(case: Case) -> None:
    """An attached one is used as it is where blocks cannot be drawn; ours are the same words."""
    content, form = case["input"]["content"], case["input"]["format"]
    assert derived(content["blocks"])[form] == case["expect"]
    segment = parse_content(content)
    assert segment is not None
    assert Dom(drawn(segment).text).text == plain_text([segment]) == case["expect"].strip("# ")
    alternates = [each for each in content.get("alternates", []) if each["type"] == form]
    undrawable = parse_content({**content, "blocks": [], "alternates": alternates})
    assert undrawable is not None
    if alternates:
        assert (undrawable.type, undrawable.text) == (form, case["expect"])
