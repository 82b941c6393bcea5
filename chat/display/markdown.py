"""Markdown to markup, one piece per top-level block. Pure; what it gives still has to be sanitised.

CommonMark with tables and strikethrough, no raw HTML, links only where an address is written out,
no picture from elsewhere (CANVAS 40, C71, C73).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name

from chat.display.ansi import PLAIN, keep_colours_only, link_markup, render_runs, strip_escapes
from chat.display.sanitise import ALIGNMENTS, is_image_allowed, is_link_allowed

MAX_MARKDOWN_CHARS = 400_000
"""A longer markdown text is drawn as plain text: parsing it would hold a thread for seconds."""

MAX_HIGHLIGHT_CHARS = 100_000
"""Longer code stays without colours: a highlighter needs about a second for four times that."""

HIGHLIGHTED = {
    "bash", "sh", "shell", "c", "cpp", "csharp", "css", "dart", "diff", "docker", "dockerfile",
    "go", "graphql", "html", "http", "ini", "java", "javascript", "js", "json", "jsx",
    "kotlin", "lua", "make", "makefile", "perl", "php", "powershell", "ps1", "py", "python",
    "r", "rb", "ruby", "rs", "rust", "scala", "scss", "sql", "swift", "toml", "ts", "tsx",
    "typescript", "xml", "yaml", "yml",
}  # fmt: skip
"""A fixed list, not all of Pygments: each lexer is a set of patterns run over hostile text."""

MAX_NESTING = 100
"""Levels of lists and quotes; what is deeper is left out, so that no text can exhaust the stack."""

MAX_BRACKETS = 1_000
"""A paragraph with more is drawn as plain words: the search for links is quadratic in them."""

LOWEST_HEADING = 6
HEADING_SHIFT = 2  # the page's own headings are h1 and h2

_LANGUAGE = re.compile(r"[A-Za-z0-9+#._-]{1,40}")
_DIRECTED = ("paragraph_open", "heading_open", "list_item_open", "th_open", "td_open")
_LEAVES = ("paragraph_open", "heading_open", "hr", "fence", "table_open")

type References = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block: its tokens, its first line and the line after its last."""

    tokens: Sequence[Token]
    start: int
    end: int

    @property
    def is_leaf(self) -> bool:
        """Whether a blank line is sure to end it, unlike a list or a quote."""
        return self.tokens[0].type in _LEAVES


def parse_blocks(source: str, references: References) -> list[Block]:
    """The top-level blocks of a text. Link references found are added to `references`."""
    env = {"references": references}
    return list(_group(_parser().parse(keep_colours_only(source), env)))


def block_markup(block: Block) -> str:
    """The markup of one block, not yet sanitised."""
    return str(_parser().renderer.render(block.tokens, _parser().options, {}))


def code_markup(code: str, language: str, *, coloured: bool = True) -> str:
    """A piece of code; with the colours of its language, where that is one of `HIGHLIGHTED`."""
    match = _LANGUAGE.match(strip_escapes(language).strip())
    name = match.group() if match else ""
    text = strip_escapes(code)
    lexer = _lexer(name.lower()) if coloured else None
    if lexer is not None and len(text) <= MAX_HIGHLIGHT_CHARS:
        body = str(highlight(text, lexer, _FORMATTER))
    else:
        body = render_runs(keep_colours_only(code), links=False)[0]
    return _code(body, f' class="language-{escape(name)}"' if name else "")


def markdown_to_text(source: str) -> str:
    """The words of a markdown text: for search, lists and screen readers."""
    parts: list[str] = []
    for block in parse_blocks(source, {}):
        words = "".join(_words(block.tokens)).strip("\n")
        if words:
            parts.append(words)
    return "\n\n".join(parts)


class _Renderer(RendererHTML):
    """The few rules in which we differ from the stock renderer. No inline style leaves it."""

    def text(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        markup, pen = render_runs(
            tokens[idx].content, env.get("pen", PLAIN), links=not env.get("anchors")
        )
        env["pen"] = pen
        return markup

    def code_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return f'<code dir="ltr">{escape(strip_escapes(tokens[idx].content), quote=False)}</code>'

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return _code(render_runs(tokens[idx].content, links=False)[0])

    def fence(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        return code_markup(token.content, token.info, coloured=_is_closed(token))

    def image(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        source = str(token.attrGet("src") or "")
        title = strip_escapes(str(token.attrGet("title") or ""))
        alt = strip_escapes(self.renderInlineAsText(token.children, options, env))
        if is_image_allowed(source):
            tip = f' title="{escape(title)}"' if title else ""
            return f'<img src="{escape(source)}" alt="{escape(alt)}"{tip}>'
        if env.get("anchors") or not is_link_allowed(source):
            return escape(alt, quote=False)
        return link_markup(source, escape(alt or source, quote=False), title)

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        href = strip_escapes(str(tokens[idx].attrGet("href") or ""))
        title = strip_escapes(str(tokens[idx].attrGet("title") or ""))
        allowed = is_link_allowed(href)
        env["anchors"] = (*env.get("anchors", ()), allowed)
        return link_markup(href, "", title).removesuffix("</a>") if allowed else ""

    def link_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        *outer, allowed = env["anchors"]
        env["anchors"] = tuple(outer)
        return "</a>" if allowed else ""

    def table_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return '<div class="table-wrap"><table>\n'

    def table_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return "</table></div>\n"

    def renderInline(  # noqa: N802 - the name is the library's
        self, tokens: Sequence[Token], options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Each paragraph begins with a plain pen, so that a block's look is its own affair."""
        return super().renderInline(tokens, options, {})


def _code(body: str, attributes: str = "") -> str:
    return f'<div class="code"><pre dir="ltr"><code{attributes}>{body}</code></pre></div>\n'


def _is_closed(token: Token) -> bool:
    """Whether the closing fence is there: the block is then one line longer (see C74)."""
    start, end = token.map or (0, 0)
    lines = token.content.count("\n") + (not token.content.endswith("\n") and token.content != "")
    return end - start == lines + 2


_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    if language not in HIGHLIGHTED:
        return None
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    options = {"html": False, "maxNesting": MAX_NESTING}
    parser = MarkdownIt("commonmark", options, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    # An unsafe address must lose its link, not its words: so every address parses, and the
    # renderer decides.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.core.ruler.before("inline", "brackets", lambda state: _draw_plainly(state.tokens))
    parser.core.ruler.push("looks", lambda state: _set_looks(state.tokens))
    return parser


def _draw_plainly(tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.type == "inline" and token.content.count("[") > MAX_BRACKETS:
            token.children = [Token("text", "", 0, content=token.content)]
            token.content = ""


def _set_looks(tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.type in _DIRECTED or token.type == "blockquote_open":
            token.attrSet("dir", "auto")
        if token.type in ("th_open", "td_open"):
            side = str(token.attrs.pop("style", "")).removeprefix("text-align:")
            if side in ALIGNMENTS:
                token.attrSet("class", f"align-{side}")
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + HEADING_SHIFT, LOWEST_HEADING)}"


def _group(tokens: Sequence[Token]) -> Iterator[Block]:
    first = 0
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            start, end = tokens[first].map or (0, 0)
            yield Block(tokens[first : index + 1], start, end)
            first = index + 1


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    counters: list[int | None] = []
    cells = 0
    for token in tokens:
        match token.type:
            case "inline":
                yield from _words(token.children or ())
            case "text":
                yield strip_escapes(token.content)
            case "code_inline" | "fence" | "code_block":
                yield strip_escapes(token.content)
            case "image":
                yield strip_escapes(token.content)
            case "softbreak" | "hardbreak" | "paragraph_close" | "heading_close" | "tr_close":
                yield "\n"
            case "th_open" | "td_open":
                yield "\t" if cells else ""
                cells += 1
            case "tr_open":
                cells = 0
            case "bullet_list_open":
                counters.append(None)
            case "ordered_list_open":
                counters.append(int(token.attrGet("start") or 1))
            case "bullet_list_close" | "ordered_list_close":
                counters.pop()
            case "list_item_open":
                number = counters[-1]
                yield "- " if number is None else f"{number}. "
                counters[-1] = None if number is None else number + 1
