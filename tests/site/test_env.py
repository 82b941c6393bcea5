"""What each helper of `chatsite.env` takes, and how it refuses the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from chatsite import env


@pytest.fixture(autouse=True)
def _names_read_here_are_not_the_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "READ", {})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((value, True) for value in ("true", "1", "Yes", "ON")),
        *((value, False) for value in ("false", "0", "no", "off", "", " ")),
    ],
)
def test_a_boolean_has_a_few_spellings(
    value: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAME", value)
    assert env.boolean("NAME") is expected


@pytest.mark.parametrize("value", ["maybe", "2", "-1", "tru", "none"])
def test_a_boolean_refuses_everything_else(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", value)
    with pytest.raises(ImproperlyConfigured, match=r"^NAME must be true or false"):
        env.boolean("NAME")


@pytest.mark.parametrize(("value", "found"), [("", "one"), ("two", "two"), ("TWO", "two")])
def test_a_word_is_one_of_a_few(value: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", value)
    assert env.one_of("NAME", "one", ["one", "two"]) == found


def test_another_word_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", "three")
    with pytest.raises(ImproperlyConfigured, match=r"^NAME must be one of one, two, not 'three'"):
        env.one_of("NAME", "one", ["one", "two"])


def test_a_number_may_be_at_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", "1")
    assert env.integer("NAME", 5, minimum=1, maximum=1) == 1
    assert env.seconds("NAME", 5, minimum=1, maximum=1) == 1


@pytest.mark.parametrize("value", ["0", "11", "ten", "1e9", "nan", "inf", "1,5", "0x5"])
def test_a_number_out_of_bounds_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", value)
    with pytest.raises(ImproperlyConfigured, match=r"^NAME must be "):
        env.integer("NAME", 5, minimum=1, maximum=10)
    with pytest.raises(ImproperlyConfigured, match=r"^NAME must be "):
        env.seconds("NAME", 5, minimum=1, maximum=10)


def test_an_empty_value_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", "")
    assert env.integer("NAME", 5, minimum=1, maximum=10) == 5
    assert env.text("NAME", "a default") == "a default"
    assert env.names("NAME", "a, b") == ["a", "b"]


def test_a_secret_may_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("from a file\n", encoding="utf-8")
    monkeypatch.setenv("NAME_FILE", str(tmp_path / "secret"))
    assert env.secret("NAME") == "from a file"


def test_a_secret_from_both_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("from a file\n", encoding="utf-8")
    monkeypatch.setenv("NAME_FILE", str(tmp_path / "secret"))
    monkeypatch.setenv("NAME", "hunter2")
    with pytest.raises(ImproperlyConfigured, match="NAME and NAME_FILE are both set") as refused:
        env.secret("NAME")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe\x00"])
def test_a_secret_file_that_is_no_use_is_named(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("NAME_FILE", str(path))
    with pytest.raises(ImproperlyConfigured, match=r"^NAME_FILE names a file that"):
        env.secret("NAME")


@pytest.mark.parametrize("value", ["ws://127.0.0.1:8999", "wss://a.example/path?x=1", "ws://[::1]"])
def test_a_websocket_address_is_taken(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", value)
    assert env.websocket_url("NAME") == value


@pytest.mark.parametrize(
    "value",
    [
        *("http://a.example", "a.example:80", "ws://?", "ws://a:b:c", "ws://a:99999", "ws://a b"),
        *("ws://a:0", "ws://\N{GREEK SMALL LETTER ALPHA}.example", "ws://[::1", "ws:/a"),
    ],
)
def test_another_address_is_refused_and_not_repeated(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAME", value)
    with pytest.raises(ImproperlyConfigured, match=r"^NAME must be an address like ws://") as no:
        env.websocket_url("NAME")
    assert value not in str(no.value)


@pytest.mark.parametrize(
    ("url", "engine", "name"),
    [
        ("postgres://me:pw@db.example:5433/chat", "django.db.backends.postgresql", "chat"),
        ("postgresql://db.example/chat", "django.db.backends.postgresql", "chat"),
        ("sqlite:////folder/file", "django.db.backends.sqlite3", "/folder/file"),
    ],
)
def test_a_database_address_is_taken(
    url: str, engine: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAME", url)
    config = env.database("NAME", Path("unused"), shown="")
    assert (config["ENGINE"], config["NAME"]) == (engine, name)


@pytest.mark.parametrize(
    "url",
    [
        *("mysql://me:pw@host/chat", "postgres://me:pw@host:port/x", "postgres://me:pw@host"),
        *("postgres:me:pw", "sqlite://:memory:", "sqlite://", "chat.sqlite3"),
    ],
)
def test_another_database_is_refused_and_its_password_not_repeated(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAME", url)
    with pytest.raises(ImproperlyConfigured, match=r"^NAME must be an address") as refused:
        env.database("NAME", Path("unused"), shown="")
    assert "pw" not in str(refused.value)


def test_a_missing_folder_is_made_for_this_user_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAME", str(tmp_path / "new"))
    path = env.directory("NAME", Path("unused"), shown="")
    assert path == tmp_path / "new"
    assert path.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NAME", str(tmp_path / "file" / "new"))
    with pytest.raises(ImproperlyConfigured, match=r"^NAME must be a folder"):
        env.directory("NAME", Path("unused"), shown="")


@pytest.mark.parametrize("value", ["chat.example.org", "ftp://a", "https://", "https://a/path"])
def test_an_origin_needs_scheme_and_host_and_no_more(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAME", f"https://fine.example, {value}")
    with pytest.raises(ImproperlyConfigured, match=r"^NAME must list origins"):
        env.origins("NAME")


@pytest.mark.parametrize(
    ("value", "fine"),
    [("redis://127.0.0.1:6379/0", True), ("rediss://:pw@r.example", True), ("memory://", False)],
)
def test_a_redis_address_is_checked(
    value: str, fine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAME", value)
    read: Callable[[str], str] = env.redis_url
    if fine:
        assert read("NAME") == value
    else:
        with pytest.raises(ImproperlyConfigured, match=r"^NAME must be an address like redis://"):
            read("NAME")
