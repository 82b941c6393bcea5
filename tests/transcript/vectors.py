"""Reads a table of tests/vectors/ as the cases of one test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "vectors"

type Case = dict[str, Any]


def table(area: str) -> dict[str, Case]:
    """The cases of an area by their name, without the area."""
    cases = json.loads((FOLDER / f"{area}.json").read_text(encoding="utf-8"))
    return {case["id"].removeprefix(f"{area}."): case for case in cases}


def params(cases: Mapping[str, Case], skipped: Mapping[str, str] | None = None) -> list[Any]:
    """The cases for `parametrize`; those of `skipped` are listed with their reason."""
    return [
        pytest.param(
            case,
            id=name,
            marks=[pytest.mark.skip(reason=skipped[name])] if skipped and name in skipped else [],
        )
        for name, case in cases.items()
    ]
