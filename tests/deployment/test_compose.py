"""The compose file names real settings, commands and services, and keeps no secret in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from chatsite import env, settings
from tests.deployment.readme import installed
from tests.processes import ROOT

FILE = ROOT / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: about for name, about in SERVICES.items() if about["image"] == COMPOSE["name"]}
CADDYFILE = COMPOSE["configs"]["caddyfile"]["content"]
VARIABLES = {"CHAT_HOST": "chat.example.org", "TYPEAGENT_SERVER_URL": "ws://agents.example.org"}


def seconds(text: str) -> int:
    assert text.endswith("s")
    return int(text[:-1])


def test_it_has_two_web_processes_a_relay_and_what_they_need() -> None:
    assert set(OURS) == {"migrate", "web-1", "web-2", "relay"}
    assert set(SERVICES) - set(OURS) == {"postgres", "valkey", "caddy"}


def test_every_setting_is_one_of_the_sites() -> None:
    assert settings.SITE_DATA  # they have been read
    for about in OURS.values():
        assert set(about["environment"]) <= set(env.READ)
        assert about["environment"]["LINK_OWNERS"] == "relay"


def test_every_command_exists() -> None:
    assert "command" not in OURS["web-1"]  # the image has it
    for name in ("migrate", "relay"):
        assert OURS[name]["command"][:3] == ["python", "manage.py", name]
    assert (ROOT / "chat/management/commands/relay.py").is_file()


def test_every_secret_comes_in_a_file() -> None:
    for about in SERVICES.values():
        for name, value in about.get("environment", {}).items():
            if name.endswith("_FILE"):
                path = value.removeprefix("${TUNNEL_TOKEN:+").removesuffix("}")
                assert path.removeprefix("/run/secrets/") in about["secrets"]
            else:
                assert f"{name}_FILE" not in env.READ or name == "REDIS_URL"
    assert all("file" in about for about in COMPOSE["secrets"].values())


def test_every_process_is_given_the_time_that_it_takes_to_stop() -> None:
    for about in OURS.values():
        assert seconds(about["stop_grace_period"]) >= max(20, settings.STOP_WITHIN_S + 5)


def test_every_server_has_a_health_check_but_the_one_that_serves_nothing() -> None:
    without = {name for name, about in SERVICES.items() if "healthcheck" not in about}
    assert without == {"web-1", "web-2"}  # the image has it
    off = {name for name, about in SERVICES.items() if about.get("healthcheck", {}).get("disable")}
    assert off == {"migrate", "relay"}


def test_the_database_is_ready_before_it_is_migrated_and_migrated_before_it_is_used() -> None:
    assert SERVICES["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("web-1", "web-2", "relay"):
        condition = {"condition": "service_completed_successfully"}
        assert SERVICES[name]["depends_on"]["migrate"] == condition


def test_every_volume_that_is_mounted_is_kept_by_name() -> None:
    mounted = {name.partition(":")[0] for s in SERVICES.values() for name in s.get("volumes", ())}
    assert mounted == set(COMPOSE["volumes"])


def test_caddy_takes_its_part_and_knows_both_web_processes(tmp_path: Path) -> None:
    caddy = installed("caddy", "caddy")
    file = tmp_path / "Caddyfile"
    file.write_text(CADDYFILE.replace("${CHAT_HOST}", VARIABLES["CHAT_HOST"]), encoding="utf-8")
    done = subprocess.run(
        [caddy, "validate", "--config", str(file), "--adapter", "caddyfile"],
        env={**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    webs = [name for name in OURS if name.startswith("web-")]
    assert f"reverse_proxy {' '.join(f'{name}:8000' for name in webs)} {{" in CADDYFILE


def test_docker_compose_takes_all_of_it() -> None:
    docker = shutil.which("docker")
    if (
        docker is None
        or subprocess.run([docker, "compose", "version"], capture_output=True).returncode
    ):
        pytest.skip("no docker compose here")
    done = subprocess.run(
        [docker, "compose", "--file", str(FILE), "config", "--quiet"],
        env={**os.environ, **VARIABLES},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
