"""A desktop's browser, for what a phone has not: a mouse, a wheel, an Enter key that sends."""

from __future__ import annotations

from typing import Any

DESK: dict[str, Any] = {
    "viewport": {"width": 1000, "height": 700},
    "device_scale_factor": 1,
    "is_mobile": False,
    "has_touch": False,
}
"""Options for `make_context`."""
