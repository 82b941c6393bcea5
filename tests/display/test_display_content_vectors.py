"""The original clients' own cases of content and markdown, one test each."""

from __future__ import annotations

from typing import Any

import pytest

from chat.display.content import parse_content
from chat.display.sanitise import is_link_allowed
from tests.display.dom import Dom
from tests.display.make import drawn, markdown, shown
from tests.transcript.vectors import Case, params, table

CONTENT = table("display_content")
PARSED = {name: case for name, case in CONTENT.items() if "message" in case["input"]}
FILES = {name: case for name, case in CONTENT.items() if "href" in case["input"]}
WEB = {name: case for name, case in CONTENT.items() if name.startswith("web_")}
MARKDOWN = table("markdown")
ADDRESSES = {name: case for name, case in MARKDOWN.items() if "sanitizeUri" in case["input"]}
WORDS = {name: case for name, case in MARKDOWN.items() if "markdown" in case["input"]}

OUTER_KIND = "the kind of the outer message is decoded with the event, not with its content"
FILE_LINKS = "links to local files are not shown yet"
COPY = "what a tap copies is tested with the page"

PARSED_LATER = {"agent_message_kind": OUTER_KIND, "agent_message_kind_absent": OUTER_KIND}
WEB_LATER = {
    "web_file_link": FILE_LINKS,
    "web_code_copy_after_append": COPY,
    "web_inline_command_copy": COPY,
    "web_inline_plain": COPY,
}


def test_every_case_is_listed() -> None:
    assert set(CONTENT) == set(PARSED) | set(FILES) | set(WEB)
    assert set(MARKDOWN) == set(ADDRESSES) | set(WORDS)


@pytest.mark.parametrize("case", params(PARSED, PARSED_LATER))
def test_content_is_parsed_as_the_original_does(case: Case) -> None:
    segment = parse_content(case["input"]["message"])
    found = {
        "text": segment.text if segment else "",
        "format": segment.type if segment else None,
        "kind": segment.kind if segment else None,
    }
    assert {name: found[name] for name in case["expect"]} == case["expect"]


@pytest.mark.parametrize("case", params(FILES))
def test_a_file_link_is_not_a_link_yet(case: Case) -> None:
    href = case["input"]["href"]
    if is_link_allowed(href):
        pytest.skip("an ordinary link: only the file reader refuses it")
    assert drawn(markdown(f"[x](<{href}>)")).all("a") == []
    pytest.skip(FILE_LINKS)


@pytest.mark.parametrize("case", params(WEB, WEB_LATER))
def test_content_is_drawn_as_the_original_does(case: Case) -> None:
    dom = shown(case["input"])
    for name, expected in case["expect"].items():
        WEB_CHECKS[name](dom, expected)


@pytest.mark.parametrize("case", params(ADDRESSES))
def test_an_address_may_be_linked_as_in_the_original(case: Case) -> None:
    assert is_link_allowed(case["input"]["sanitizeUri"]) is (case["expect"] is not None)


@pytest.mark.parametrize("case", params(WORDS))
def test_markdown_shows_the_words_of_the_original(case: Case) -> None:
    dom = drawn(markdown(case["input"]["markdown"]))
    expect = case["expect"]
    for words in expect["textContains"]:
        # A browser writes the numbers of a list itself.
        assert words.removeprefix("1. ").removeprefix("2. ") in dom.text
    assert not any(words in dom.text for words in expect.get("textNotContains", []))
    if expect.get("hasBold"):
        assert any(element.tag in ("h3", "h4", "h5", "h6") for element in dom.elements)


def check_links(dom: Dom, expected: list[dict[str, str]]) -> None:
    assert len(dom.all("a")) == len(expected)
    for link, wanted in zip(dom.all("a"), expected, strict=True):
        for name, value in wanted.items():
            assert (link.text if name == "text" else link.attributes[name]) == value


def check_click(dom: Dom, expected: list[str]) -> None:
    link = dom.one("a").attributes
    assert [link["href"], link["target"]] == expected


def check_elements(dom: Dom, expected: dict[str, int]) -> None:
    assert {tag: len(dom.all(tag)) for tag in expected} == expected


def check_token(dom: Dom, expected: dict[str, str]) -> None:
    """Their class names are not ours: what counts is that the word has a colour of its own."""
    assert dom.one("code")
    coloured = "".join(span.text for span in dom.all("span"))
    assert expected["text"] in coloured


def check_buttons(dom: Dom, expected: int) -> None:
    """The page's script gives each of these elements its button."""
    assert len(dom.with_class("code")) == expected


def check_code(dom: Dom, expected: str) -> None:
    assert dom.one("code").text == expected


def check_code_contains(dom: Dom, expected: str) -> None:
    assert expected in dom.one("code").text


def check_text(dom: Dom, expected: str) -> None:
    assert dom.text == expected


WEB_CHECKS: dict[str, Any] = {
    "links": check_links,
    "onClick": check_click,
    "code": check_code,
    "copyButtons": check_buttons,
    "copiedText": check_code,
    "token": check_token,
    "elements": check_elements,
    "codeText": check_code,
    "codeTextContains": check_code_contains,
    "text": check_text,
}
