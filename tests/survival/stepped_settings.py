"""The site's settings, by a clock that a test steps."""

from __future__ import annotations

from tests.survival import clock

clock.install()

from chatsite.settings import *  # noqa: E402, F403
