"""The unfinished end of a streaming answer reads like a beginning of the whole answer."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.display.blocks import render_exact
from chat.display.content import Segment
from chat.display.heal import heal
from chat.display.stream import StreamRenderer
from chat.localagent import demo_text

ANSWER = """\
# Title here

Para with **bold text**, *it*, `code *x*`, ~~gone~~ and [a link](https://example.org/a_b) \
and <https://x.y/z>. Also 2 * 3 = 6, snake_case_name, &amp; and \\*literal\\*.

1. one **bold**
2. two
   - nested `x`
10. ten

> quote **with** bold
> second line

| a | b |
|---|:-:|
| 1 | **2** |

```py
def f(a_b):
    return "**x**" # - 1
```

Setext
======

---

~~~
tilde ``` inside
~~~

* ***both*** and **nested *em* here** done
End with ![img](https://example.org/i.png) ok.
"""


def visible(blocks: list[str]) -> str:
    """What a reader sees, without white space."""
    return re.sub(r"\s+", "", html.unescape(re.sub(r"<[^>]+>", "", " ".join(blocks))))


@pytest.mark.parametrize("answer", [ANSWER, demo_text(3000)], ids=["every construct", "demo"])
def test_what_is_shown_is_always_a_beginning_of_the_answer(answer: str) -> None:
    whole = visible(render_exact([Segment("markdown", answer)]))
    renderer = StreamRenderer()
    for length in range(1, len(answer) + 1):
        renderer.update([Segment("markdown", answer[:length], inline=True)])
        shown = visible(renderer.blocks)
        assert whole.startswith(shown), answer[max(0, length - 30) : length]
    assert shown == whole


@pytest.mark.parametrize(
    ("unfinished", "shown"),
    [
        ("a **b", "a **b**"),
        ("a **", "a "),
        ("a **b*", "a **b**"),
        ("a `co", "a `co`"),
        ("a ~~b ", "a ~~b~~"),
        ("a *b **c", "a *b **c***"),
        ("see [the do", "see "),
        ("see [the docs](http", "see "),
        ("see [the docs](http://x.y) now", "see [the docs](http://x.y) now"),
        ("2 * 3", "2 * 3"),
        ("snake_case", "snake_case"),
        ("a &am", "a "),
        ("text\n-", "text\n"),
        ("text\n\n1", "text\n\n"),
        ("text\n\n1. one", "text\n\n1. one"),
        ("```p", "\n"),
        ("```py\nx = 1", "```py\nx = 1"),
        ("```py\nx = 1\n``", "```py\nx = 1\n"),
        ("| a | b", ""),
        ("| a |\n|--", ""),
        ("a | b\nno table", "a | b\nno table"),
    ],
)
def test_what_cannot_be_told_yet_waits(unfinished: str, shown: str) -> None:
    assert heal(unfinished) == shown


@given(st.text(alphabet="ab *_`~[]()!\\<>&|#-1.\n", max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    heal(text)
