"""Makes the unfinished end of streaming markdown read like a beginning of the whole. Pure.

Half a piece of markup would show for a moment as stray characters (C74): what is certainly
begun is closed for now, and what cannot be told yet is held back until the next characters.
"""

from __future__ import annotations

import re

HOLD_MAX_CHARS = 300
"""A bracket that stays open longer than this is taken for a plain one."""

_QUOTE = r"[ \t]*+(?:>[ \t]*+)*+"
_FENCE = re.compile(rf"{_QUOTE}(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]+)*(`{{3,}}|~{{3,}})(.*)\Z")
_ITEM = re.compile(rf"{_QUOTE}(?:[-*+]|\d{{1,9}}[.)]|#{{1,6}})[ \t]")
_UNDECIDED_LINE = re.compile(
    rf"{_QUOTE}(?:[-=*_+#`~|:>\s]*|(?:[-*+][ \t]+)*\d{{1,9}}[.)]?[ \t]*)\Z"
)
_UNDECIDED_MARKS = "*_~`\\!"
_UNDECIDED_END = re.compile(r"(?:&#?\w{0,31}|<[^\s<>]*)\Z")
_MARK = re.compile(r"\\.|`+|\*+|_+|~~|!?\[|\]", re.DOTALL)


def heal(text: str) -> str:
    """The part of an unfinished text that may be shown, with provisional closing marks.

    `text` begins at the start of a block. What is shown of it is, but for literal marks that
    never get a partner, a beginning of what any continuation shows.
    """
    lines = text.split("\n")
    opened = _open_fence(lines)
    if opened is not None:
        undecided = opened == len(lines) - 1 or _UNDECIDED_LINE.match(lines[-1])
        return "\n".join(lines[:-1]) + "\n" if undecided else text
    lines = _without_possible_table(lines)
    if _UNDECIDED_LINE.match(lines[-1]):
        lines[-1] = ""
    start = _leaf_start(lines)
    head, leaf = lines[:start], "\n".join(lines[start:])
    cell = leaf.rfind("|") + 1 if "|" in lines[-1] and start == len(lines) - 1 else 0
    return "\n".join([*head, leaf[:cell] + _heal_inline(leaf[cell:])])


def _open_fence(lines: list[str]) -> int | None:
    """The line of the code fence that is open at the end, if there is one."""
    opened: int | None = None
    mark = ""
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if not found:
            continue
        run, info = found[1], found[2]
        if opened is None:
            if run[0] == "~" or "`" not in info:
                opened, mark = number, run
        elif run.startswith(mark) and not info.strip() and number < len(lines) - 1:
            opened = None
    return opened


def _without_possible_table(lines: list[str]) -> list[str]:
    """Without a line that the next one may turn into a table's head."""
    for count in (1, 2):
        first = len(lines) - count
        if first < 0 or "|" not in lines[first]:
            continue
        begins = first == 0 or not lines[first - 1].strip(" \t>")
        if begins and (count == 1 or _UNDECIDED_LINE.match(lines[-1])):
            return [*lines[:first], ""]
    return lines


def _leaf_start(lines: list[str]) -> int:
    """Where the innermost block begins that the end of the text belongs to."""
    for number in range(len(lines) - 1, -1, -1):
        if not lines[number].strip(" \t>"):
            return min(number + 1, len(lines) - 1)
        if _ITEM.match(lines[number]) or lines[number].lstrip(" \t>").startswith("|"):
            return number
    return 0


def _heal_inline(text: str) -> str:
    """Close what is open within one run of inline text, and hold back what is undecided."""
    undecided = _UNDECIDED_END.search(text)
    text = text[: undecided.start()] if undecided else text.rstrip(_UNDECIDED_MARKS)
    open_marks, bracket = _scan(text)
    if bracket is not None and len(text) - bracket <= HOLD_MAX_CHARS:
        text = text[:bracket]
        open_marks, _ = _scan(text)
    if not open_marks:
        return text
    shown = text.rstrip()
    first, mark = open_marks[0]
    if len(shown) <= first + len(mark):
        return text[:first]
    closers = [mark for at, mark in reversed(open_marks) if len(shown) > at + len(mark)]
    kept = shown
    for at, mark in reversed(open_marks):
        if len(shown) <= at + len(mark):
            kept = shown[:at].rstrip()
    return kept + "".join(closers)


def _scan(text: str) -> tuple[list[tuple[int, str]], int | None]:
    """The emphasis and code marks that are open at the end, and the bracket that is."""
    opened: list[tuple[int, str]] = []
    brackets: list[int] = []
    position = 0
    while found := _MARK.search(text, position):
        mark, at, position = found[0], found.start(), found.end()
        if mark[0] == "\\":
            continue
        if mark[0] == "`":
            end = _code_end(text, position, mark)
            if end is None:
                return [*opened, (at, mark)], brackets[0] if brackets else None
            position = end
        elif mark.endswith("["):
            brackets.append(at)
        elif mark == "]":
            position = _after_bracket(text, position, brackets)
        else:
            _emphasis(text, at, mark, opened)
    return opened, brackets[0] if brackets else None


def _code_end(text: str, start: int, mark: str) -> int | None:
    """Behind the run of backticks that closes a code span."""
    for found in re.finditer(r"`+", text[start:]):
        if found[0] == mark:
            return start + found.end()
    return None


def _after_bracket(text: str, position: int, brackets: list[int]) -> int:
    """Behind a link's target; a bracket stays open until it is known to be none."""
    if not brackets:
        return position
    following = text[position : position + 1]
    if following == "":
        return position
    if following in "([":
        end = text.find(")" if following == "(" else "]", position + 1)
        if end < 0:
            return len(text)
        position = end + 1
    brackets.pop()
    return position


def _emphasis(text: str, at: int, mark: str, opened: list[tuple[int, str]]) -> None:
    """Open or close emphasis by the flanking rules of CommonMark, as far as they matter here."""
    before = text[at - 1 : at] or " "
    after = text[at + len(mark) : at + len(mark) + 1] or " "
    opens = not after.isspace() and (after.isalnum() or before.isspace() or not before.isalnum())
    closes = not before.isspace() and (before.isalnum() or after.isspace() or not after.isalnum())
    if mark[0] == "_":
        opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
    rest = len(mark)
    while closes and rest and opened:
        place, last = opened[-1]
        if last[0] != mark[0]:
            break
        if len(last) > rest:
            opened[-1] = (place, last[:-rest])
            rest = 0
        else:
            opened.pop()
            rest -= len(last)
    if opens and rest:
        opened.append((at, mark[:rest]))
