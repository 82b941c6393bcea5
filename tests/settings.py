"""The settings for tests: nothing of the machine's environment, all data in a folder of their own.

`DATABASE_URL` and `REDIS_URL` are kept, so that the tests can be run on PostgreSQL and Redis.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import structlog

KEPT = {"DATABASE_URL", "REDIS_URL"}
PREFIXES = (
    *("AGENT_", "ALLOWED_", "CHAT_", "CSRF_", "DATABASE_", "DEBUG", "LINK_", "LOG_"),
    *("METRICS_", "OWNER_", "REDIS_"),
    *("SECRET_", "SESSION_", "SITE_", "STATIC_", "STOP_", "TRUST_", "TYPEAGENT_"),
)

for _name in [name for name in os.environ if name.startswith(PREFIXES) and name not in KEPT]:
    del os.environ[_name]

DATA = Path(tempfile.mkdtemp(prefix="chat-tests-"))
atexit.register(shutil.rmtree, DATA, ignore_errors=True)
os.environ["SITE_DATA"] = str(DATA)
os.environ["SECRET_KEY"] = "a-key-that-only-the-tests-use-0123456789abcdef"

from chatsite.settings import *  # noqa: E402, F403
from chatsite.settings import DATABASES  # noqa: E402

# What the subprocesses of tests are given is set by the tests; they must not inherit these.
del os.environ["SITE_DATA"], os.environ["SECRET_KEY"]

DATABASES["default"]["TEST"] = {}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # In a file: a database in memory would be shared by locking whole tables.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA / "tests.sqlite3")}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# What is cached at a logger's first use no test could listen to.
structlog.configure(cache_logger_on_first_use=False)
