"""The site's settings, with a layer of `tests.survival.lossy` that `TEST_LAYER` names."""

from __future__ import annotations

import os

from chatsite.settings import *  # noqa: F403
from chatsite.settings import CHANNEL_LAYERS

CHANNEL_LAYERS["default"]["BACKEND"] = f"tests.survival.lossy.{os.environ['TEST_LAYER']}"
