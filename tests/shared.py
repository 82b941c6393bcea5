"""Finds the folder of protocol recordings and vectors, where the checkout has one beside it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(
    os.environ.get("SHARED_DIR") or Path(__file__).resolve().parent.parent.parent / "shared"
)

requires_shared = pytest.mark.skipif(
    not (SHARED / "wire").is_dir(), reason="the recordings of the agent-server are not here"
)


def load_vectors(name: str) -> list[dict[str, Any]]:
    """The cases of one area; an empty list where the folder is absent."""
    path = SHARED / "vectors" / f"{name}.json"
    if not path.is_file():
        return []
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return cases


def wire_files() -> list[Path]:
    """The recordings, one file a scenario; an empty list where the folder is absent."""
    return sorted((SHARED / "wire").glob("*.jsonl"))
