"""C59 on PostgreSQL, which cannot hold a NUL where SQLite can: a site of its own on a database."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import psycopg
import pytest
from psycopg import sql

from tests.pages.forms import Document
from tests.pages.visitor import Visitor, visitors
from tests.processes import Site

HOST, PORT, USER = "127.0.0.1", 5432, "root"
DATABASE = "chat_pages_test"


def _admin() -> psycopg.Connection:
    return psycopg.connect(host=HOST, port=PORT, user=USER, dbname="postgres", autocommit=True)


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory, static_root: Path) -> Iterator[Visitor]:
    """Somebody at a site whose rows are in PostgreSQL."""
    try:
        socket.create_connection((HOST, PORT), timeout=2).close()
        admin = _admin()
    except (OSError, psycopg.OperationalError) as error:
        pytest.skip(f"no PostgreSQL to use at {HOST}:{PORT}: {error}")
    name = sql.Identifier(DATABASE)
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name)
    with admin:
        admin.execute(drop)
        admin.execute(sql.SQL("CREATE DATABASE {}").format(name))
        url = f"postgres://{USER}@{HOST}:{PORT}/{DATABASE}"
        site = Site(tmp_path_factory.mktemp("postgres") / "site", static_root, DATABASE_URL=url)
        try:
            visitor = visitors(site.start(), "alice", staff=True)[0]
            visitor.fetch_token()
            yield visitor
        finally:
            site.close()
            admin.execute(drop)


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "\x00\x00x"])
def test_c59_a_message_is_stored_without_what_cannot_be(postgres: Visitor, text: str) -> None:
    client_id = f"id-{len(text)}-{ord(text[1])}"
    data = urlencode({"text": text}, errors="surrogatepass")
    answer = postgres.post_raw(f"{postgres.page}messages/", f"{data}&client_id={client_id}")
    assert answer.status == 200
    assert "\x00" not in answer.text
    (body,) = [e for e in Document(answer.text).elements if "data-body" in e.attributes]
    assert body.text in ("ab", "a\ufffd\ufffd\ufffdb", "x")


@pytest.mark.parametrize(
    "path",
    ["?before=%00", "earlier/?before=%00", "?x=%00", "%00/", "?before=99999999999999999999.999"],
)
def test_c59_a_nul_in_an_address_is_no_fault(postgres: Visitor, path: str) -> None:
    assert postgres.get(postgres.page + path).status in (200, 404)


@pytest.mark.parametrize(
    "address",
    [
        *("/accounts/login/?next=%00", "/accounts/one-time/?sesame=%00", "/?q=%00", "/c/%00/"),
        *("/admin/chat/conversation/?q=%00", "/admin/chat/conversation/?stale=%00"),
    ],
)
def test_c59_a_nul_elsewhere_is_no_fault(postgres: Visitor, address: str) -> None:
    assert postgres.get(address).status < 500


@pytest.mark.parametrize("route", ["stop", "retry"])
def test_c59_a_nul_in_the_name_of_a_request_is_no_fault(postgres: Visitor, route: str) -> None:
    answer = postgres.post(f"{postgres.page}{route}/", {"request": "a\x00b"}, htmx=True)
    assert answer.status in (200, 404)


def test_c59_a_nul_at_the_log_in_is_no_fault(postgres: Visitor) -> None:
    stranger = Visitor(postgres.site, "", "")
    page = Document(stranger.get("/accounts/login/?next=%00").text)
    fields = page.form("", "username").fields | {"username": "a\x00", "password": "b\x00"}
    answer = stranger.post_raw("/accounts/login/?next=%00", urlencode(fields), htmx=False)
    assert answer.status == 200
    fields |= {"username": "nobody", "next": "\x00"}
    answer = stranger.post_raw("/accounts/login/?next=%00", urlencode(fields), htmx=False)
    assert answer.status == 200


def test_c59_the_site_still_works(postgres: Visitor) -> None:
    assert postgres.send("still here", "last").status == 200
    assert postgres.get(postgres.page).status == 200
