"""Structured content: each of the nine kinds as a reader without scripts gets it (CANVAS 52-65)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.display.blocks import render_exact
from chat.display.content import (
    Segment,
    parse_content,
    plain_text,
    raw_text,
    segment_from_json,
    segment_to_json,
)
from chat.display.sanitise import TONES, sanitise
from chat.display.structured.fallback import to_markdown, to_text
from chat.display.structured.reading import (
    MAX_CELLS,
    MAX_DATA_CHARS,
    MAX_FALLBACK_CELLS,
    MAX_JSON_CHARS,
    NO_STRUCTURED,
    READERS,
    TOO_LARGE,
    read_blocks,
)
from chat.display.words import Json, clean_text
from chat.localagent.commands.shows import STRUCTURED
from chat.localagent.commands.structured import BLOCKS
from chat.localagent.commands.structured import DEMOS as DEMO_CONTENTS
from tests.display.dom import Dom, Element
from tests.display.make import shown
from tests.display.reader import Reader
from tests.display.test_hostile_markup import ATTACKS, FORBIDDEN_TAGS, HARMLESS_ATTRIBUTES

ATTRIBUTES = HARMLESS_ATTRIBUTES | {"data-page", "data-raw", "height", "scope", "width"}
ALTERNATES = [{"type": "text", "content": "alternate"}]


def content(*blocks: Json, **fields: Json) -> dict[str, Json]:
    return {"type": "structured", "blocks": list(blocks), **fields}


def segment_of(raw: Json) -> Segment:
    segment = parse_content(raw)
    assert segment is not None
    return segment


def block(kind: str, **fields: Json) -> Dom:
    return shown(content({"kind": kind, **fields}))


def grid(**fields: Json) -> Dom:
    """A table of three rows and two columns; `fields` say more of it."""
    columns = [{"id": "a", "header": "A"}, {"id": "b", "header": "B"}]
    return block("table", **{"columns": columns, "rows": [[1, 2], [3], [4, 5]], **fields})


def cell(value: Json, kind: str = "text") -> tuple[Element, Dom]:
    dom = block("table", columns=[{"id": "a", "header": "A", "type": kind}], rows=[[value]])
    return dom.one("td"), dom


def sortable(dom: Dom) -> list[str]:
    return [header.text for header in dom.with_class("sortable")]


def test_all_nine_kinds_are_read() -> None:
    assert sorted(READERS) == sorted(
        ["heading", "text", "table", "list", "keyValue", "card", "image", "code", "divider"]
    )
    kinds = {each["kind"] for blocks in BLOCKS.values() for each in blocks}
    assert kinds == set(READERS)


@pytest.mark.parametrize("name", DEMO_CONTENTS)
def test_every_demonstration_is_drawn(name: str) -> None:
    assert parse_content(DEMO_CONTENTS[name]) is not None
    assert render_exact([segment_of(DEMO_CONTENTS[name])])


def test_blocks_stand_in_their_order_each_in_a_block_of_its_own() -> None:
    blocks = [Dom(html) for html in render_exact([segment_of(STRUCTURED)])]
    tags = [dom.elements[0].tag for dom in blocks]
    assert tags == ["h4", "p", "div", "ol", "dl", "div", "div", "hr", "div"]


@pytest.mark.parametrize(("level", "tag"), [(1, "h3"), (2, "h4"), (3, "h5"), (None, "h3")])
def test_a_heading_stands_below_those_of_the_page(level: int | None, tag: str) -> None:
    assert block("heading", text="H", level=level).elements[0].tag == tag


@pytest.mark.parametrize(("level", "tag"), [(0, "h3"), (9, "h5"), ("2", "h3"), (True, "h3")])
def test_a_level_that_is_none_is_the_nearest_or_the_first(level: Json, tag: str) -> None:
    assert block("heading", text="H", level=level).elements[0].tag == tag


def test_text_is_markdown_unless_it_says_otherwise() -> None:
    assert block("text", text="**b**").one("strong").text == "b"
    assert block("text", text="**b**", format="markdown").one("strong").text == "b"
    assert block("text", text="**b**\nc", format="text").one("div").text == "**b**\nc"


def test_a_table_has_headers_rows_and_a_caption() -> None:
    dom = grid(caption="Some numbers")
    assert dom.one("caption").text == "Some numbers"
    assert [header.attributes["scope"] for header in dom.all("th")] == ["col", "col"]
    assert [each.text for each in dom.all("td")] == ["1", "2", "3", "", "4", "5"]


def test_a_cell_beyond_the_last_column_is_left_out() -> None:
    assert [each.text for each in grid(rows=[[1, 2, 3]]).all("td")] == ["1", "2"]


@pytest.mark.parametrize(
    ("value", "words"),
    [("x", "x"), (1, "1"), (1.5, "1.5"), (True, "true"), (None, ""), ({"text": 3}, "3")],
)
def test_a_cell_is_a_scalar_or_has_a_text(value: Json, words: str) -> None:
    assert cell(value)[0].text == words


def test_a_badge_beats_a_link_beats_the_type_of_the_column() -> None:
    _, dom = cell({"text": "x", "href": "https://a.example/", "badge": "success"}, "code")
    assert (dom.all("a"), dom.all("code")) == ([], [])
    assert dom.one("span").classes == {"badge", "badge-success"}
    _, dom = cell({"text": "x", "href": "https://a.example/"}, "code")
    assert (dom.hrefs(), dom.all("code")) == (["https://a.example/"], [])
    assert cell("x", "code")[1].one("code").text == "x"
    assert cell("x", "badge")[1].one("span").classes == {"badge", "badge-neutral"}
    assert cell("https://a.example/", "link")[1].hrefs() == ["https://a.example/"]
    assert cell("no address", "link")[1].hrefs() == []


def test_numbers_stand_at_the_right_unless_the_column_says_otherwise() -> None:
    assert cell(1, "number")[0].classes == {"align-right"}
    columns = [{"id": "a", "header": "A", "type": "number", "align": "center"}]
    dom = block("table", columns=columns, rows=[[1]])
    assert dom.one("td").classes == dom.one("th").classes == {"align-center"}


def test_a_tooltip_is_said_by_a_title() -> None:
    for value in ({}, {"badge": "info"}, {"href": "https://a.example/"}):
        _, dom = cell({"text": "x", "tooltip": "more", **value})
        assert [each.text for each in dom.elements if each.attributes.get("title")] == ["x"]


def test_columns_can_be_sorted_unless_the_table_or_the_column_says_otherwise() -> None:
    columns = [{"id": "a", "header": "A", "sortable": False}, {"id": "b", "header": "B"}]
    assert sortable(grid()) == ["A", "B"]
    assert sortable(grid(columns=columns)) == ["B"]
    assert sortable(grid(sortable=False)) == sortable(grid(readonly=True)) == []
    assert sortable(grid(rows=[[1]])) == []


def test_a_table_is_filtered_only_where_it_asks_for_it_and_can_be_touched() -> None:
    assert not grid().with_class("filterable")
    assert grid(filterable=True).with_class("filterable")
    assert not grid(filterable=True, readonly=True).with_class("filterable")


@pytest.mark.parametrize(
    ("size", "page"),
    [(2, "2"), (2.0, "2"), (3, None), (0, None), (-1, None), ("2", None), (True, None)],
)
def test_a_table_longer_than_a_page_says_how_long_that_is(size: Json, page: str | None) -> None:
    dom = grid(pageSize=size)
    assert dom.with_class("grid")[0].attributes.get("data-page") == page
    assert len(dom.all("tr")) == 4  # without a script all of them can be read


def test_a_list_has_bullets_or_numbers_subtitles_and_badges() -> None:
    items = [
        {"text": "one", "href": "https://a.example/", "subtitle": "below", "badges": ["warning"]},
        {"text": "two", "badges": [{"text": "new", "tone": "info"}, "beta"]},
        "three",
    ]
    dom = block("list", items=items)
    assert dom.one("ul")
    assert dom.hrefs() == ["https://a.example/"]
    assert dom.with_class("subtitle")[0].text == "below"
    assert [each.text for each in dom.with_class("badge")] == ["Warning", "New", "Beta"]
    assert [each.text for each in dom.with_class("badge-warning")] == ["Warning"]
    assert [each.text for each in dom.with_class("badge-info")] == ["New"]
    assert [each.text for each in dom.all("li")][2] == "three"
    assert block("list", items=items, ordered=True).one("ol")


def test_pairs_are_labels_with_values() -> None:
    pairs = [
        {"label": "a", "value": 1},
        {"label": "b", "value": {"text": "x", "href": "https://a.example/"}},
    ]
    dom = block("keyValue", pairs=pairs)
    assert [each.text for each in dom.all("dt")] == ["a", "b"]
    assert [each.text for each in dom.all("dd")] == ["1", "x"]
    assert dom.hrefs() == ["https://a.example/"]


def test_a_card_has_a_title_that_may_be_a_link() -> None:
    fields = [{"label": "f", "value": 2}]
    dom = block("card", title="T", subtitle="S", fields=fields, href="https://a.example/")
    assert dom.one("a").text == "T"
    assert dom.with_class("subtitle")[0].text == "S"
    assert dom.one("dd").text == "2"
    assert block("card", title="T", href="javascript:alert(1)").all("a") == []


def test_a_picture_that_is_in_the_content_is_shown() -> None:
    src = "data:image/png;base64,AAAA"
    dom = block("image", src=src, alt="A", caption="C", width=20, height=10.0)
    assert dom.one("img").attributes == {"src": src, "alt": "A", "width": "20", "height": "10"}
    assert dom.one("figcaption").text == "C"
    assert "width" not in block("image", src=src, width="20").one("img").attributes


def test_c73_a_picture_from_elsewhere_is_a_link_and_one_from_nowhere_its_words() -> None:
    dom = block("image", src="https://a.example/i.png", alt="A chart")
    assert (dom.all("img"), dom.hrefs()) == ([], ["https://a.example/i.png"])
    assert dom.one("a").text == "A chart"
    assert block("image", src="https://a.example/i.png").one("a").text == "https://a.example/i.png"
    assert block("image", src="file:///x", alt="A").one("figure").text == "[image: A]"


def test_code_is_as_in_markdown_and_has_its_colours() -> None:
    dom = block("code", code="x = '<b>'", language="python")
    assert dom.with_class("code")
    assert dom.one("code").text.strip() == "x = '<b>'"
    assert dom.one("code").classes == {"language-python"}
    assert dom.all("span")
    assert block("code", code="a\x1b[31mb").one("code").text == "ab"


def test_a_divider_is_a_rule() -> None:
    assert [each.tag for each in block("divider").elements] == ["hr"]


def test_data_for_machines_is_offered_but_not_shown() -> None:
    dom = shown(content({"kind": "divider"}, rawData={"a": [1, "<b>"]}))
    assert dom.with_class("data")[0].attributes["data-raw"] == '{"a": [1, "<b>"]}'
    assert dom.text == ""
    assert not block("divider").with_class("data")


def test_data_too_long_for_a_page_is_not_offered() -> None:
    dom = shown(content({"kind": "divider"}, rawData="x" * MAX_DATA_CHARS))
    assert dom.one("hr")
    assert not dom.with_class("data")


def test_the_kind_of_the_whole_is_said_once() -> None:
    dom = shown(content({"kind": "heading", "text": "H"}, {"kind": "divider"}, kind="error"))
    assert dom.text == "Error: H"
    assert len(dom.with_class("kind-error")) == 2


@pytest.mark.parametrize(
    "raw",
    [
        None,
        1,
        "text",
        [],
        {},
        {"kind": "hologram"},
        {"kind": ["heading"]},
        {"kind": "heading"},
        {"kind": "text", "text": " "},
        {"kind": "table", "columns": [], "rows": [[1]]},
        {"kind": "table", "columns": "A", "rows": [[1]]},
        {"kind": "list", "items": {}},
        {"kind": "keyValue", "pairs": [1]},
        {"kind": "card"},
        {"kind": "image"},
        {"kind": "code", "code": ""},
    ],
)
def test_a_block_that_is_none_draws_nothing_and_spoils_nothing(raw: Json) -> None:
    assert shown(content(raw, {"kind": "heading", "text": "H"})).text == "H"
    assert segment_of(content(raw)).text == NO_STRUCTURED
    assert segment_of(content(raw, alternates=ALTERNATES)).text == "alternate"


@pytest.mark.parametrize("blocks", [None, {}, "x", [], [[]]])
def test_what_has_no_blocks_gives_its_alternate_or_a_notice(blocks: Json) -> None:
    raw = {"type": "structured", "blocks": blocks}
    assert segment_of(raw) == Segment("text", NO_STRUCTURED)
    assert segment_of({**raw, "alternates": ALTERNATES}) == Segment("text", "alternate")


def wide(cells: int) -> Json:
    return {"kind": "table", "columns": ["A"] * 10, "rows": [["x"]] * (cells // 10)}


@pytest.mark.parametrize(
    "large",
    [
        wide(MAX_CELLS),
        {"kind": "list", "items": ["x"] * MAX_CELLS},
        {"kind": "list", "items": [{"text": "x", "badges": ["info"] * MAX_CELLS}]},
        {"kind": "text", "text": "x" * MAX_JSON_CHARS},
    ],
)
def test_what_is_too_large_for_blocks_gives_its_alternate_or_markdown(large: Json) -> None:
    assert segment_of(content(large, alternates=ALTERNATES)).text == "alternate"
    segment = segment_of(content(large))
    assert segment.type == "markdown"
    assert "x" in segment.text


def test_what_is_larger_still_is_told_of_at_no_cost() -> None:
    assert segment_of(content(wide(MAX_FALLBACK_CELLS))).text == TOO_LARGE


def test_fallbacks_are_those_that_the_agents_own_library_attaches() -> None:
    """As recorded from a real agent-server, which was shown the same blocks."""
    blocks = list(read_blocks(STRUCTURED["blocks"]))
    assert to_markdown(blocks) == (
        "## Title\n\npara **b**\n\n| A | B |\n| --- | --- |\n| x | ok |\n"
        "| 1 | [l](https://example.com/) |\n\n1. i1\n\n- **k:** v\n\n### card\n- **f:** 2\n\n"
        "```python\nx = 1\n```\n\n---"
    )
    assert to_text(blocks) == (
        "Title\n\npara **b**\n\nA  B \n-  --\nx  ok\n1  l \n\n"
        "1. i1\n\nk: v\n\ncard\nf: 2\n\nx = 1\n\n----"
    )


def test_its_words_are_derived_from_the_blocks() -> None:
    segment = segment_of(STRUCTURED)
    assert plain_text([segment]) == to_text(read_blocks(STRUCTURED["blocks"]))
    assert raw_text([segment]) == ""


def test_a_long_cell_does_not_widen_the_other_rows() -> None:
    table = {"kind": "table", "columns": ["A"], "rows": [["x" * 1_000], ["y"]], "caption": "C"}
    assert to_text(read_blocks([table])) == f"C\nA\n-\n{'x' * 1_000}\ny"


def test_markdown_links_and_shows_only_what_may_be() -> None:
    blocks = [
        {"kind": "image", "src": "javascript:x", "alt": "A"},
        {"kind": "card", "title": "T", "subtitle": "S", "href": "https://a.example/ (x)"},
        {"kind": "list", "items": [{"text": "t", "href": "javascript:x", "subtitle": "s"}]},
        {"kind": "table", "columns": ["A"], "rows": [["a\nb"]], "caption": "C"},
        {"kind": "text", "text": "*a*\nb", "format": "text"},
        {"kind": "code", "code": "```"},
    ]
    assert to_markdown(read_blocks(blocks)).split("\n\n") == [
        "\\[image: A\\]",
        "### [T](<https://a.example/(x)>)\nS",
        "- t — s",
        "*C*",
        "| A |\n| --- |\n| a b |",
        "\\*a\\*\\\nb",
        "````\n```\n````",
    ]
    text = to_text(read_blocks(blocks[:3])).split("\n\n")
    assert text == ["[image: A]", "T\nS", "- t — s"]


def test_a_derived_markdown_shows_words_as_written() -> None:
    large = {"kind": "list", "items": [{"text": "*a* <b> [c](d) `e` f|g"}] * MAX_CELLS}
    dom = shown(content(large))
    assert dom.all("li")[0].text == "*a* <b> [c](d) `e` f|g"


def test_it_comes_back_from_the_database() -> None:
    segment = segment_of(content({"kind": "heading", "text": "a\x00b\ud83d\r\n"}, rawData="\x00"))
    assert segment_from_json(segment_to_json(segment)) == segment
    assert Dom(render_exact([segment])).text.startswith("ab\ufffd")


@pytest.mark.parametrize("packed", ["", "{", "[]", "1", '{"blocks": 1}', "[" * 100_000])
def test_a_stored_one_that_cannot_be_read_says_so(packed: str) -> None:
    assert Dom(render_exact([Segment("structured", packed)])).text == NO_STRUCTURED
    assert plain_text([Segment("structured", packed)]) == ""


def test_one_that_replaces_another_is_sent_only_where_it_differs() -> None:
    reader = Reader()
    first = content({"kind": "heading", "text": "H"}, {"kind": "text", "text": "one"})
    second = content({"kind": "heading", "text": "H"}, {"kind": "text", "text": "two"})
    reader.update([segment_of(first)])
    before = reader.received
    reader.update([segment_of(second)])
    assert reader.page == render_exact([segment_of(second)])
    assert reader.received - before == len(reader.page[1])
    reader.finish([segment_of(second)])
    assert reader.received - before == len(reader.page[1])


def test_it_stands_between_what_streams() -> None:
    segments = [Segment("markdown", "a"), segment_of(STRUCTURED), Segment("markdown", "b")]
    reader = Reader()
    for count in range(1, 4):
        reader.update(segments[:count])
    segments[2] = replace(segments[2], text="b *c*")
    reader.update(segments)
    assert reader.page == render_exact(segments)


def hostile(attack: str) -> dict[str, Json]:
    """The attack in every place where a text may stand."""
    value = {"text": attack, "href": attack, "badge": attack, "tooltip": attack}
    column = {"id": attack, "header": attack, "type": attack, "align": attack, "sortable": attack}
    return content(
        {"kind": "heading", "text": attack, "level": attack},
        {"kind": "text", "text": attack, "format": "markdown"},
        {"kind": "text", "text": attack, "format": "text"},
        {
            "kind": "table",
            "caption": attack,
            "columns": [attack, column, *({**column, "type": kind} for kind in ("link", "code"))],
            "rows": [[attack, value, attack, attack], [value] * 4],
            "pageSize": attack,
            "filterable": attack,
        },
        {"kind": "list", "items": [{**value, "subtitle": attack, "badges": [attack, value]}]},
        {"kind": "keyValue", "pairs": [{"label": attack, "value": value}]},
        {"kind": "card", "title": attack, "subtitle": attack, "href": attack},
        {"kind": "image", "src": attack, "alt": attack, "caption": attack, "width": attack},
        {"kind": "code", "code": attack, "language": attack},
        {"kind": attack, "text": attack},
        rawData=attack,
        kind=attack,
    )


def assert_ours(dom: Dom) -> None:
    """No element, attribute or class but those that our renderers write."""
    for element in dom.elements:
        assert element.tag not in FORBIDDEN_TAGS
        assert set(element.attributes) <= ATTRIBUTES
        assert not any(
            name.startswith("on") or name in ("id", "style") for name in element.attributes
        )
        for href in [element.attributes[name] for name in ("href",) if name in element.attributes]:
            assert href.split(":")[0].lower() in ("http", "https", "mailto", "tel")
        assert element.attributes.get("src", "data:image/png").startswith("data:image/")
        assert element.attributes.get("data-page", "1").isdecimal()
        tone = [name for name in element.classes if name.startswith("badge-")]
        assert set(tone) <= {f"badge-{name}" for name in TONES}


@pytest.mark.parametrize("attack", ATTACKS)
def test_c71_nothing_in_a_block_can_run(attack: str) -> None:
    dom = shown(hostile(attack))
    assert dom.all("table")
    assert_ours(dom)


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.isprintable()])
def test_c71_markup_in_a_block_is_shown_as_the_words_it_is(attack: str) -> None:
    assert block("heading", text=attack).one("h3").text == attack
    assert cell(attack)[0].text == attack
    assert block("card", title=attack).one("p").text == attack
    assert shown(content({"kind": "divider"}, rawData=attack)).text == ""


@pytest.mark.parametrize(
    "markup",
    [
        '<div data-page="1 onclick=x">',
        '<img src="data:image/png;base64,AA" width="100%" height="9999999">',
        '<div class="grid composer" id="composer" data-hx-get="/x"></div>',
        '<span class="badge badge-x" title="t" style="x"></span>',
    ],
)
def test_c71_the_sanitiser_knows_no_more_than_what_blocks_need(markup: str) -> None:
    dom = Dom(sanitise(markup))
    for element in dom.elements:
        assert not {"id", "style", "width", "height", "data-page", "data-hx-get"} & set(
            element.attributes
        )
        assert element.classes <= {"grid", "badge"}


NAMES = st.sampled_from(
    [
        *("kind", "text", "level", "format", "columns", "rows", "header", "id", "type", "align"),
        *("sortable", "filterable", "readonly", "pageSize", "caption", "href", "badge", "tooltip"),
        *("items", "ordered", "subtitle", "badges", "tone", "pairs", "label", "value", "title"),
        *("fields", "src", "alt", "width", "height", "code", "language"),
    ]
)
WORDS = st.sampled_from([*ATTACKS, *TONES, "link", "code", "right", "https://a.example/"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | WORDS
    | st.text(st.characters(exclude_categories=[]))
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner), max_leaves=20
)
A_BLOCK = st.builds(
    lambda kind, fields: {**fields, "kind": kind},
    st.sampled_from(sorted(READERS)),
    st.dictionaries(NAMES, ANYTHING),
)


@given(
    st.lists(A_BLOCK | ANYTHING, max_size=4) | ANYTHING, st.dictionaries(NAMES, ANYTHING), ANYTHING
)
def test_no_json_makes_it_raise_and_no_markup_of_an_agent_survives(
    blocks: Any, fields: dict[str, Any], data: Any
) -> None:
    raw = {**fields, "type": "structured", "blocks": blocks, "rawData": data}
    segment = segment_of(raw)
    assert segment_from_json(segment_to_json(segment)) == segment
    html = render_exact([segment])
    assert_ours(Dom(html))
    plain_text([segment]).encode()
    reader = Reader()
    reader.update([segment])
    reader.finish([segment])
    assert reader.page == html
    # The same as it is said where blocks cannot be drawn.
    words = clean_text(to_markdown(read_blocks(blocks)))
    assert_ours(Dom(render_exact([Segment("markdown", words)])))
