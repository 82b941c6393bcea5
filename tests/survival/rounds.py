"""How often a thing is broken: twice in the usual run, twenty times with `-m soak`."""

from __future__ import annotations

import pytest

USUAL = 2
ALL = 20


def rounds() -> pytest.MarkDecorator:
    """Parametrizes a test with `seed`, for the random moments of a round."""
    soak = [pytest.param(seed, marks=pytest.mark.soak) for seed in range(USUAL, USUAL + ALL)]
    return pytest.mark.parametrize("seed", [*range(USUAL), *soak])
