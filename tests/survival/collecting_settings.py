"""The site's settings, while garbage is collected all the time: what nobody holds is gone at once.

In the thread of the event loop, as it happens by itself: a signal brings it about.
"""

from __future__ import annotations

import gc
import signal
import sys

from chatsite.settings import *  # noqa: F403

AGAIN_S = 0.3


def collect(*_signal: object) -> None:
    """And once more in a moment."""
    gc.collect()
    signal.setitimer(signal.ITIMER_REAL, AGAIN_S)


if "manage.py" not in sys.argv[0]:  # in the processes that serve
    signal.signal(signal.SIGALRM, collect)
    collect()
