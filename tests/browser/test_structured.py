"""Structured content on a phone: all nine kinds, and tables sorted, filtered, paged and copied."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from chat.localagent.commands.structured import BLOCKS, DEMOS, RECORDS, structured
from chat.localagent.wire import Json
from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.director import Director
from tests.browser.test_contrast import assert_readable
from tests.browser.test_hostile_content import DANGERS, PAYLOADS
from tests.browser.test_narrow_screen import SIDEWAYS
from tests.browser.watch import Watch

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator

pytestmark = pytest.mark.browser

type OpenChat = Callable[..., Chat]
PAGE, ALL = 10, len(RECORDS)
THUMB_PX = 44
KINDS = "h3, h4, h5, p strong, .text, table, ul, ol, dl, .tile, figure img, .code, hr"
CLIPBOARD = """
Object.defineProperty(navigator, "clipboard", {
  value: {writeText: async text => { window.copied = text; }},
});
"""
"""Keeps what a page copies, where the test can read it."""


def show(chat: Chat, director: Director, name: str, *contents: Json) -> None:
    """Have an answer shown, and over."""
    chat.send(f"@told {name}")
    director.part(name).show(*contents).finish()
    chat.wait_ended()


def column(table: Locator, index: int) -> list[str]:
    """What the rows that are shown say in a column, from the top."""
    cells = table.locator(f"tbody tr:not([hidden]) td:nth-child({index + 1})")
    return cells.all_inner_texts()


def numbers(table: Locator) -> list[int]:
    return [int(words.removeprefix("#")) for words in column(table, 0)]


def top(element: Locator) -> float:
    box = element.bounding_box()
    assert box is not None
    return box["y"]


def test_all_nine_kinds_fit_a_phone_and_are_readable(chat: Chat) -> None:
    chat.send("@demo blocks")
    chat.wait_ended()
    body = chat.answer_text
    for selector in KINDS.split(", "):
        expect(body.locator(selector).first).to_be_visible()
    expect(body.locator("h4")).to_have_text("A heading of level 2")
    expect(body.locator(".tile a")).to_have_text("A card")
    expect(body.locator("figcaption")).to_have_text("One pixel, enlarged")
    expect(body.locator(".badge").filter(has_text="Success")).to_be_visible()
    assert chat.page.viewport_size == {"width": 390, "height": 844}
    assert chat.page.evaluate(SIDEWAYS) == []
    for control in body.locator("button, input").all():
        box = control.bounding_box()
        assert box is None or min(box["width"], box["height"]) >= THUMB_PX
    assert_readable(chat.page)
    chat.page.set_viewport_size({"width": 320, "height": 640})
    assert chat.page.evaluate(SIDEWAYS) == []
    said = body.inner_text()
    chat.reload()
    chat.wait_connected()
    expect(body.locator(".sort").first).to_be_visible()
    assert body.inner_text() == said


def test_a_press_on_a_header_sorts_up_down_and_not_at_all(chat: Chat, director: Director) -> None:
    show(chat, director, "sorts", DEMOS["table"])
    table = chat.answer_text.locator("table")
    numbered, city, miles = (table.locator("th").nth(index) for index in range(3))
    expect(table.locator("th .sort")).to_have_count(4)  # one column is not to be sorted
    assert numbers(table) == list(range(1, PAGE + 1))

    by_miles = sorted(RECORDS, key=lambda record: record["miles"])
    miles.get_by_role("button").tap()
    expect(miles).to_have_attribute("aria-sort", "ascending")
    assert numbers(table) == [record["number"] for record in by_miles[:PAGE]]
    miles.get_by_role("button").tap()
    expect(miles).to_have_attribute("aria-sort", "descending")
    assert numbers(table) == [record["number"] for record in reversed(by_miles[-PAGE:])]
    miles.get_by_role("button").tap()
    expect(miles).to_have_attribute("aria-sort", "none")
    assert numbers(table) == list(range(1, PAGE + 1))

    # Numbers inside of words count as numbers; another column begins anew.
    miles.get_by_role("button").tap()
    numbered.get_by_role("button").tap()
    numbered.get_by_role("button").tap()
    assert numbers(table) == list(range(ALL, ALL - PAGE, -1))
    city.get_by_role("button").tap()
    expect(numbered).to_have_attribute("aria-sort", "none")
    expect(city).to_have_attribute("aria-sort", "ascending")
    assert column(table, 1) == ["Accra"] * PAGE


def test_case_does_not_count_and_equal_rows_keep_their_order(
    chat: Chat, director: Director
) -> None:
    rows = [["b", 1], ["A", 2], ["B", 3], ["a", 4], ["", 5], ["-2", 6], ["-10", 7]]
    block = {"kind": "table", "columns": ["Word", "Place"], "rows": rows}
    show(chat, director, "case", structured(block))
    table = chat.answer_text.locator("table")
    table.get_by_role("button", name="Word").tap()
    assert column(table, 1) == ["5", "7", "6", "2", "4", "1", "3"]


def test_pages_are_added_until_all_rows_are_there(chat: Chat, director: Director) -> None:
    show(chat, director, "pages", DEMOS["table"])
    table, more = chat.answer_text.locator("table"), chat.answer_text.locator(".more")
    for shown in range(PAGE, ALL, PAGE):
        expect(more).to_have_text(f"Show more ({ALL - shown})")
        assert numbers(table) == list(range(1, shown + 1))
        row = table.locator(f"tbody tr:nth-child({shown})")
        more.scroll_into_view_if_needed()
        before = top(row)
        more.tap()
        assert top(row) == before  # what is read stays where it is
    expect(more).to_be_hidden()
    assert len(numbers(table)) == ALL


def test_a_filter_looks_at_all_rows_and_switches_paging_off(chat: Chat, director: Director) -> None:
    show(chat, director, "filters", DEMOS["table"])
    body = chat.answer_text
    table, more, field = body.locator("table"), body.locator(".more"), body.get_by_role("searchbox")
    field.fill("OSLO")
    oslo = [record["number"] for record in RECORDS if record["city"] == "Oslo"]
    assert numbers(table) == oslo
    expect(more).to_be_hidden()
    expect(body.get_by_role("status")).to_have_text(f"{len(oslo)} of {ALL}")
    table.get_by_role("button", name="#").tap()
    table.get_by_role("button", name="#").tap()
    assert numbers(table) == oslo[::-1]
    field.fill("nothing like it")
    assert numbers(table) == []
    expect(body.get_by_role("status")).to_have_text(f"0 of {ALL}")
    field.fill("")
    assert numbers(table) == list(range(ALL, ALL - PAGE, -1))
    expect(more).to_be_visible()


def test_data_is_copied_as_json_and_never_shown(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    chat = open_chat(person, prepare=lambda page: page.add_init_script(CLIPBOARD))
    chat.wait_connected()
    show(chat, director, "data", DEMOS["table"], structured(*BLOCKS["code"]))
    chat.answer_text.get_by_role("button", name="Copy data").tap()
    expect(chat.answer_text.get_by_role("button", name="Copied!")).to_be_visible()
    assert json.loads(chat.page.evaluate("window.copied")) == RECORDS
    expect(chat.answer_text.get_by_role("button", name="Copy data")).to_be_visible()
    chat.answer_text.get_by_role("button", name="Copy", exact=True).tap()
    expect(chat.answer_text.get_by_role("button", name="Copied!")).to_be_visible()
    assert chat.page.evaluate("window.copied").strip() == "print('hello')"
    assert '"miles"' not in chat.answer_text.inner_text()


def test_a_push_leaves_a_table_as_the_reader_has_set_it(chat: Chat, director: Director) -> None:
    chat.send("@told pushed")
    part = director.part("pushed").show(DEMOS["table"])
    body = chat.answer_text
    table, field = body.locator("table"), body.get_by_role("searchbox")
    body.locator(".more").tap()
    table.get_by_role("button", name="#").tap()
    table.get_by_role("button", name="#").tap()
    field.fill("i")
    before = numbers(table)
    part.append("Words").finish()  # the end draws the whole message anew
    chat.wait_ended()
    expect(field).to_be_focused()
    expect(field).to_have_value("i")
    assert numbers(table) == before
    field.fill("")
    assert numbers(table) == list(range(ALL, ALL - 2 * PAGE, -1))


def test_a_table_that_is_replaced_is_set_as_the_one_before(chat: Chat, director: Director) -> None:
    def version(first: str) -> Json:
        rows = [[number, f"{first} {number}"] for number in range(1, 31)]
        columns = [{"id": "n", "header": "N"}, {"id": "w", "header": "Words"}]
        return structured(
            {"kind": "table", "columns": columns, "rows": rows, "filterable": True, "pageSize": 5}
        )

    chat.send("@told replaced")
    part = director.part("replaced").show(version("old"))
    body = chat.answer_text
    table, field = body.locator("table"), body.get_by_role("searchbox")
    table.get_by_role("button", name="N", exact=True).tap()
    table.get_by_role("button", name="N", exact=True).tap()
    body.locator(".more").tap()
    field.press_sequentially("1")
    part.set(version("new"))
    expect(table.locator("tbody tr").first).to_contain_text("new")
    expect(field).to_be_focused()
    field.press_sequentially("2")
    assert column(table, 1) == ["new 12"]
    field.fill("")
    assert column(table, 1) == [f"new {number}" for number in range(30, 20, -1)]
    expect(body.locator(".more")).to_have_text("Show more (20)")
    part.set(structured({"kind": "table", "columns": ["Other"], "rows": [[1], [2]]}))
    expect(table.locator("th")).to_have_text(["Other"])
    expect(table.locator("th")).to_have_attribute("aria-sort", "none")
    assert column(table, 0) == ["1", "2"]
    part.finish()
    chat.wait_ended()


def test_without_scripts_everything_can_be_read(
    person: Person,
    chat: Chat,
    make_context: Callable[..., BrowserContext],
    open_chat: OpenChat,
    director: Director,
) -> None:
    show(chat, director, "plain blocks", DEMOS["blocks"])
    plain = open_chat(person, in_=make_context(person, java_script_enabled=False))
    table = plain.answer_text.locator("table")
    assert numbers(table) == list(range(1, ALL + 1))
    for selector in KINDS.split(", "):
        expect(plain.answer_text.locator(selector).first).to_be_visible()
    expect(plain.answer_text.locator("button, input")).to_have_count(0)
    assert '"miles"' not in plain.answer_text.inner_text()


def test_c71_no_block_of_an_agent_runs(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    watch = Watch()
    chat = open_chat(person, prepare=watch.on)
    chat.wait_connected()
    chat.send("@told hostile blocks")
    part = director.part("hostile blocks")
    for payload in PAYLOADS:
        value = {"text": payload, "href": payload, "badge": payload, "tooltip": payload}
        part.show(
            structured(
                {"kind": "heading", "text": payload},
                {"kind": "text", "text": payload},
                {
                    "kind": "table",
                    "columns": [{"id": payload, "header": payload, "type": "link"}, payload],
                    "rows": [[payload, value], [value, payload]],
                    "readonly": True,
                },
                {"kind": "list", "items": [{**value, "subtitle": payload, "badges": [payload]}]},
                {"kind": "card", "title": payload, "href": payload, "subtitle": payload},
                {"kind": "image", "src": payload, "alt": payload, "caption": payload},
                {"kind": "code", "code": payload, "language": payload},
                rawData=payload,
            )
        )
    part.show("The end").finish()
    expect(chat.answer_text).to_contain_text("The end")
    chat.wait_ended()
    for _ in range(2):
        assert chat.page.locator("html").evaluate(DANGERS) == []
        watch.assert_quiet(chat.page)
        chat.reload()
        expect(chat.answer_text).to_contain_text("The end")
