"""Everything that the pages show can be made out, in light and in dark (WCAG AA)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import expect

from chat.localagent.wire import Json
from tests.browser.chat import Chat
from tests.browser.conftest import Person
from tests.browser.director import Director
from tests.browser.wcag import contrast, everything_seen

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.browser

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
MARKDOWN = """# One

## Two

#### Four

Words with *emphasis*, **strength**, `code` and [a link](https://example.com/).

> A quotation

1. a list

| a | b |
|---|---|
| 1 | 2 |

```python
# a comment
@decorated
class Thing(Base):
    def method(self, number=1_000) -> str:
        return f"{number}" + 'text' if None else len([])
```

```diff
+ more
- less
```

```json
{"key": [1, true, "text"]}
```
"""
ANSI = "".join(
    f"\x1b[{code}mcolour {code}\x1b[0m " for code in [1, 2, 4, 7, *range(30, 38), *range(90, 98)]
) + "".join(f"\x1b[{code}mground {code}\x1b[0m " for code in [*range(40, 48), *range(100, 108)])
KINDS = ("status", "info", "warning", "error", "success")
CONTENTS: list[Json] = [
    {"type": "markdown", "content": MARKDOWN},
    {"type": "text", "content": ANSI},
    *({"type": "text", "content": f"a {kind}", "kind": kind} for kind in KINDS),
    {"type": "markdown", "content": "*more* `code` [link](https://a.example)", "kind": "warning"},
]


def assert_readable(page: Page) -> None:
    """Everything on the page has the contrast that it needs, in both schemes."""
    page.emulate_media(reduced_motion="reduce")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        seen = everything_seen(page)
        assert len(seen) >= 3
        too_faint = [f"{scheme} {each.contrast:.2f} {each.what}" for each in seen if not each.fine]
        assert too_faint == []


def test_a_page_with_everything_in_it_is_readable_in_light_and_dark(
    chat: Chat, director: Director
) -> None:
    assert_readable(chat.page)  # empty
    name = f"contrast {chat.page.url[-10:-1]}"
    chat.send(f"@told {name} one https://example.com/")
    part = director.part(f"{name} one https://example.com/").show(*CONTENTS)
    part.show("Looking", source="chat")
    expect(chat.answer_text).to_contain_text("a success")
    chat.send("@told waits its turn")
    expect(chat.page.get_by_text("Waiting its turn")).to_be_visible()
    assert_readable(chat.page)
    part.fail("this did not work")
    director.part("waits its turn").append("Half")
    chat.wait_answer("Half", "streaming")
    chat.stop_button.click()
    chat.wait_idle()
    expect(chat.page.get_by_role("button", name="Retry").last).to_be_visible()
    chat.field.fill("x" * 20_001)
    chat.page.locator("#composer button[type=submit]").click()
    expect(chat.error).to_be_visible()
    expect(chat.page.locator("#limit")).to_be_visible()
    chat.page.locator("#newer").evaluate("pill => { pill.hidden = false; }")
    assert_readable(chat.page)

    chat.field.fill("")
    chat.page.get_by_label("Menu").click()
    chat.page.get_by_text("Clear chat").click()
    assert_readable(chat.page)


@pytest.mark.parametrize("state", ["connecting", "connected", "reconnecting", "error"])
def test_the_connection_is_readable_in_every_state(state: str, chat: Chat) -> None:
    chat.connection.evaluate("(e, state) => { e.dataset.state = state; }", state)
    assert_readable(chat.page)


def test_the_log_in_page_is_readable_in_light_and_dark(
    person: Person, make_context: Callable[..., BrowserContext]
) -> None:
    page = make_context().new_page()
    page.goto(person.site.url + "/accounts/login/")
    assert_readable(page)
    page.get_by_label("Username").fill("nobody")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert_readable(page)
    page.goto(person.site.url + "/nowhere/")
    assert_readable(page)


def test_contrast_is_counted_as_wcag_does() -> None:
    assert contrast([0, 0, 0], [255, 255, 255]) == 21
    assert round(contrast([119, 119, 119], [255, 255, 255]), 2) == 4.48
