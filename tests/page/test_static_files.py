"""The stylesheet and scripts: small, and free of what the policy or a phone cannot take."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import django_htmx
import pytest

STATIC = Path(__file__).parents[2] / "static" / "chat"
HTMX = Path(django_htmx.__file__).parent / "static" / "django_htmx"
SCRIPTS = ("grids.js", "upsert.js", "scroll.js", "composer.js", "page.js")
BUDGET_BYTES = 40_000


def test_everything_as_sent_is_within_40_kb() -> None:
    files = [STATIC / name for name in ("chat.css", *SCRIPTS)]
    files += [HTMX / "htmx-2.min.js", HTMX / "ext" / "hx-ws-2.min.js"]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= BUDGET_BYTES


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_needs_a_secure_origin_or_eval(name: str) -> None:
    script = re.sub(r"/\*.*?\*/", "", (STATIC / name).read_text(), flags=re.DOTALL)
    assert not re.search(r"\beval\(|new Function|randomUUID\(", script)


def test_the_style_asks_for_nothing_from_elsewhere() -> None:
    style = (STATIC / "chat.css").read_text()
    assert not re.search(r"@import|@font-face|url\(", style)


def test_c86_the_message_field_is_at_least_16_px() -> None:
    style = (STATIC / "chat.css").read_text()
    rules = re.findall(r"^\.box textarea \{(.*?)\}", style, re.DOTALL | re.MULTILINE)
    assert [size for rule in rules for size in re.findall(r"font-size: ([^;]+)", rule)] == ["1rem"]
