"""The steps of `manage.py serve`, each of which fails with one clear line."""

from __future__ import annotations

import hashlib
import io
import socket
from pathlib import Path
from urllib.parse import urlencode

import psycopg
import qrcode
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.staticfiles import finders
from django.core.management import CommandError, call_command
from django.db import Error, connection
from sesame.utils import get_parameters

LOCAL_USER = "local"
WILDCARDS = {"0.0.0.0", "::"}  # noqa: S104
BACKLOG = 128
MAX_PORT = 65_535
ONE_TIME_PATH = "/accounts/one-time/"


def port_number(text: str) -> int:
    """The port that a command line names. Raises ValueError, which the parser turns to words."""
    port = int(text)
    if not 0 <= port <= MAX_PORT:
        raise ValueError
    return port


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise CommandError(f"Cannot listen on {host} port {port}: {error.strerror}.") from None
    return listener


def check_database() -> None:
    """Reaches the database once, past the pool, which would only say that it waited in vain."""
    try:
        if connection.vendor == "sqlite":
            connection.ensure_connection()
        else:
            parameters = connection.get_connection_params()
            parameters.pop("pool", None)
            psycopg.connect(**parameters).close()
    except (Error, psycopg.Error) as error:
        raise CommandError(
            f"Cannot reach the database (DATABASE_URL): {_first_line(error)}"
        ) from None


def migrate() -> None:
    """Brings the database up to date."""
    try:
        call_command("migrate", verbosity=0, interactive=False)
    except Error as error:
        raise CommandError(
            f"Cannot prepare the database (DATABASE_URL): {_first_line(error)}"
        ) from None


def local_user() -> AbstractBaseUser:
    """The user of whoever started the site: made once, without a password until one is set."""
    users = get_user_model()
    user, made = users.objects.get_or_create(
        **{users.USERNAME_FIELD: LOCAL_USER},
        defaults={"is_staff": True, "is_superuser": True},
    )
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def collect_static() -> None:
    """Collects and compresses the static files, unless they are as they were the last time."""
    root = Path(settings.STATIC_ROOT)
    stamp = root / ".collected"
    current = _static_fingerprint()
    if stamp.is_file() and stamp.read_text(encoding="ascii") == current:
        return
    call_command("collectstatic", verbosity=0, interactive=False)
    stamp.write_text(current, encoding="ascii")


def login_link(base_url: str, user: AbstractBaseUser) -> str:
    """An address that logs this user in, once and within the next minutes."""
    return f"{base_url}{ONE_TIME_PATH}?{urlencode(get_parameters(user))}"


def lan_address() -> str:
    """This machine's address in the local network; "" when it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket sends nothing: it only asks which address would be
            # used. The target is one that is kept for documentation.
            probe.connect(("192.0.2.1", 9))
            address = str(probe.getsockname()[0])
        except OSError:
            return ""
    return "" if address.startswith("127.") else address


def url_of(host: str, port: int) -> str:
    """The address of a page server there."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def qr_code(text: str) -> str:
    """A QR code of half blocks, made for a dark terminal."""
    code = qrcode.QRCode(border=2)
    code.add_data(text)
    drawn = io.StringIO()
    code.print_ascii(out=drawn, invert=True)
    return drawn.getvalue()


def _static_fingerprint() -> str:
    parts = [settings.STORAGES["staticfiles"]["BACKEND"]]
    for finder in finders.get_finders():
        for name, storage in finder.list(None):
            found = Path(storage.path(name)).stat()
            parts.append(f"{name} {found.st_mtime_ns} {found.st_size}")
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
