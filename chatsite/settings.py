"""Every setting of the site, all of it from the environment (see the README's table)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils.csp import CSP

from chatsite import env, keys, logs

BASE_DIR = Path(__file__).resolve().parent.parent

# The site

SITE_NAME = env.text("SITE_NAME", "TypeAgent chat")
SITE_DATA = env.directory("SITE_DATA", BASE_DIR / "data", shown="data")
DEBUG = env.boolean("DEBUG")
ALLOWED_HOSTS = env.names("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS")
TRUST_PROXY = env.boolean("TRUST_PROXY")
SECRET_KEY_FILE = SITE_DATA / "secret-key"
SECRET_KEY = keys.strong(env.secret("SECRET_KEY"), debug=DEBUG) or keys.kept_secret_key(
    SECRET_KEY_FILE
)

# The agent-server

TYPEAGENT_SERVER_URL = env.websocket_url("TYPEAGENT_SERVER_URL")
TYPEAGENT_TUNNEL_TOKEN = env.secret("TYPEAGENT_TUNNEL_TOKEN")
TYPEAGENT_SHARED_DEFAULT = env.boolean("TYPEAGENT_SHARED_DEFAULT")
AGENT_CONNECT_TIMEOUT_S = env.seconds("AGENT_CONNECT_TIMEOUT_S", 10, minimum=0.1, maximum=300)
AGENT_INVOKE_TIMEOUT_S = env.seconds("AGENT_INVOKE_TIMEOUT_S", 30, minimum=0.1, maximum=3600)
AGENT_PING_INTERVAL_S = env.seconds("AGENT_PING_INTERVAL_S", 20, minimum=0.1, maximum=300)

# The chat

CHAT_MAX_MESSAGES = env.integer("CHAT_MAX_MESSAGES", 200, minimum=1, maximum=10_000)
CHAT_MAX_AGE_DAYS = env.integer("CHAT_MAX_AGE_DAYS", 30, minimum=1, maximum=3650)
CHAT_TEXT_LIMIT_BYTES = env.integer("CHAT_TEXT_LIMIT_BYTES", 20_000, minimum=1, maximum=1_000_000)
LINK_LINGER_S = env.seconds("LINK_LINGER_S", 300, minimum=0, maximum=86_400)
LINK_OWNERS = env.one_of("LINK_OWNERS", "web", ("web", "relay"))
OWNER_TTL_S = env.seconds("OWNER_TTL_S", 6, minimum=0.5, maximum=300)
STOP_WITHIN_S = env.seconds("STOP_WITHIN_S", 15, minimum=1, maximum=600)
SESSION_CHECK_S = env.seconds("SESSION_CHECK_S", 30, minimum=0.1, maximum=3600)

INSTALLED_APPS = [
    "chat",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "servestatic",
    "channels",
    "django_htmx",
    "axes",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "chatsite.urls"
ASGI_APPLICATION = "chatsite.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.csp",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# The database

_DATABASE = env.database(
    "DATABASE_URL", SITE_DATA / "chat.sqlite3", shown="a SQLite file in `SITE_DATA`"
)
_POOL_SIZE = env.integer("DATABASE_POOL_SIZE", 16, minimum=1, maximum=500)
_DATABASE_OPTIONS: dict[str, Any]
if _DATABASE["ENGINE"].endswith("sqlite3"):
    # IMMEDIATE: a transaction that turns from reading to writing would fail at once, whatever
    # the time-out (see C58). WAL is set by chat.sqlite, once for a file.
    _DATABASE_OPTIONS = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA synchronous=NORMAL",
    }
else:
    _DATABASE_OPTIONS = {
        "connect_timeout": 5,
        # A network that drops everything is noticed after these, not after a quarter of an hour:
        # by what is unanswered (milliseconds), and by questions while nothing is said (seconds).
        "tcp_user_timeout": 10_000,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 2,
        # Seconds to wait for a connection, and between the tries of a server that is away: these
        # double, and would go on doubling for five minutes.
        "pool": {"min_size": 1, "max_size": _POOL_SIZE, "timeout": 5, "reconnect_timeout": 2},
    }
DATABASES = {
    "default": {
        **_DATABASE,
        "OPTIONS": {**_DATABASE_OPTIONS, **_DATABASE.get("OPTIONS", {})},
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The channel layer

REDIS_URL = env.redis_url("REDIS_URL")
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "chat.link.shared_layer.SharedLayer",
        "CONFIG": {
            # A server that hangs must not be waited for.
            "hosts": [{"address": REDIS_URL, "socket_connect_timeout": 2, "socket_timeout": 2}],
            # Redis brings every message to all its databases: another site's must not be heard.
            "prefix": keys.public_name(SECRET_KEY),
        },
    }
    if REDIS_URL
    else {"BACKEND": "chat.link.layer.MemoryLayer"}
}

# Language and time

LANGUAGE_CODE = "en"
USE_TZ = True
TIME_ZONE = "UTC"

# Static files

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = env.directory("STATIC_ROOT", SITE_DATA / "static", shown="`SITE_DATA`/static")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "chatsite.static.StaticStorage"},
}
SERVESTATIC_USE_BROTLI = False
SERVESTATIC_USE_ZSTD = False
SERVESTATIC_ALLOW_ALL_ORIGINS = False
SERVESTATIC_USE_FINDERS = DEBUG or not (STATIC_ROOT / "staticfiles.json").is_file()

# Logging in

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "sesame.backends.ModelBackend",
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/accounts/login/"

SESAME_ONE_TIME = True
SESAME_MAX_AGE = 600  # seconds

AXES_FAILURE_LIMIT = 6
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "chatsite.proxy.client_address"
AXES_LOCKOUT_CALLABLE = "chat.pages.errors.locked_out"
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False

# What a browser is told

SESSION_COOKIE_AGE = 30 * 24 * 3600  # seconds
CSRF_FAILURE_VIEW = "chat.pages.errors.csrf_failure"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = TRUST_PROXY and not DEBUG
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CSP = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF, CSP.NONCE],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:", "blob:"],
    "connect-src": [CSP.SELF],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.SELF],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}
if TRUST_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 30 * 24 * 3600

# Larger than any message that we take, so that a too long one is answered in plain words.
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 2**20  # bytes

# What is told of itself

METRICS_TOKEN = env.secret("METRICS_TOKEN")
LOG_FORMAT = env.one_of("LOG_FORMAT", "text", logs.FORMATS)
LOG_LEVEL = env.one_of("LOG_LEVEL", "INFO", logs.LEVELS)
LOGGING = logs.configure(
    debug=DEBUG,
    secrets=[TYPEAGENT_TUNNEL_TOKEN, SECRET_KEY, METRICS_TOKEN],
    form=LOG_FORMAT,
    level=LOG_LEVEL,
)
