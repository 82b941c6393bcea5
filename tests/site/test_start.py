"""A start that cannot be: one clear line on stderr, and an exit code that says so."""

from __future__ import annotations

import runpy
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.processes import ROOT, clean_environment, free_port, manage

WRONG = [
    ("TYPEAGENT_SERVER_URL", "http://agents.example.org"),
    ("TYPEAGENT_TUNNEL_TOKEN_FILE", "/no/such/file"),
    ("TYPEAGENT_SHARED_DEFAULT", "perhaps"),
    ("DEBUG", "2"),
    ("CSRF_TRUSTED_ORIGINS", "chat.example.org"),
    ("DATABASE_URL", "mysql://me@host/chat"),
    ("REDIS_URL", "memcached://host"),
    ("CHAT_MAX_MESSAGES", "-1"),
    ("AGENT_INVOKE_TIMEOUT_S", "soon"),
    ("LINK_OWNERS", "nobody"),
    ("STOP_WITHIN_S", "0"),
    ("METRICS_TOKEN_FILE", "/no/such/file"),
    ("LOG_FORMAT", "xml"),
    ("LOG_LEVEL", "LOUD"),
]


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port on loopback that something listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def serve(tmp_path: Path, *options: str, **settings: str) -> subprocess.CompletedProcess[str]:
    env = clean_environment(
        **{"SITE_DATA": str(tmp_path), "TYPEAGENT_SERVER_URL": "ws://127.0.0.1:1", **settings}
    )
    return manage("serve", *(options or ("--port", "0")), env=env)


def the_one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode != 0
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_setting_is_named(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITE_DATA", str(tmp_path))
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=rf"\A{name} [^\n]+\Z"):
        runpy.run_path(str(ROOT / "chatsite" / "settings.py"))


def test_a_wrong_setting_stops_every_command_and_every_server(tmp_path: Path) -> None:
    env = clean_environment(SITE_DATA=str(tmp_path), CHAT_MAX_AGE_DAYS="many")
    for command in ("serve", "migrate"):
        line = the_one_line(manage(command, env=env))
        assert line == "Wrong setting: CHAT_MAX_AGE_DAYS must be a whole number, not 'many'."
    program = "import chatsite.asgi"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].startswith(
        "django.core.exceptions.ImproperlyConfigured: CHAT_MAX_AGE_DAYS "
    )


def test_a_port_in_use_is_told(tmp_path: Path, taken_port: int) -> None:
    line = the_one_line(serve(tmp_path, "--port", str(taken_port)))
    assert line.startswith(f"CommandError: Cannot listen on 127.0.0.1 port {taken_port}: ")


def test_a_host_that_is_not_ours_is_told(tmp_path: Path) -> None:
    line = the_one_line(serve(tmp_path, "--host", "192.0.2.77", "--port", "0"))
    assert line.startswith("CommandError: Cannot listen on 192.0.2.77 port 0: ")


def test_a_port_that_cannot_be_is_told(tmp_path: Path) -> None:
    done = serve(tmp_path, "--port", "65536")
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].endswith(
        "argument --port: invalid port_number value: '65536'"
    )


@pytest.mark.parametrize("kind", ["no server", "no folder"])
def test_a_database_out_of_reach_is_told(kind: str, tmp_path: Path) -> None:
    url = {
        "no server": f"postgres://me:hunter2@127.0.0.1:{free_port()}/chat",
        "no folder": f"sqlite:///{tmp_path}/missing/chat.sqlite3",
    }[kind]
    line = the_one_line(serve(tmp_path, DATABASE_URL=url))
    assert line.startswith("CommandError: Cannot reach the database (DATABASE_URL): ")
    assert "hunter2" not in line


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a text, and not a database at all", encoding="utf-8")
    line = the_one_line(serve(tmp_path, DATABASE_URL=f"sqlite:///{tmp_path}/file"))
    assert line.startswith("CommandError: Cannot reach the database (DATABASE_URL): ")


def test_an_agent_server_that_cannot_start_is_told(tmp_path: Path) -> None:
    (tmp_path / "localagent").write_text("a file where a folder must be", encoding="utf-8")
    done = serve(tmp_path, TYPEAGENT_SERVER_URL="")
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].startswith("CommandError: The embedded agent-server ")
    assert "Traceback" not in done.stderr
