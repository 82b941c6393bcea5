"""The tables that were copied into tests/vectors/ are still those of the shared folder."""

from __future__ import annotations

import pytest

from tests.shared import load_vectors, requires_shared
from tests.transcript.vectors import table

AREAS = [
    "rpc",
    "completion_correlation",
    "message_keying",
    "not_found_error",
    "queue_mirror",
    "reconnect",
]


@requires_shared
@pytest.mark.parametrize("area", AREAS)
def test_a_copied_table_is_the_shared_one(area: str) -> None:
    assert list(table(area).values()) == load_vectors(area)
