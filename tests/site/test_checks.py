"""What `manage.py check --deploy` says about the site's own settings."""

from __future__ import annotations

from pathlib import Path

from django.core.checks import Tags, run_checks
from pytest_django import Settings


def own_ids() -> set[str]:
    tags = [Tags.security, Tags.compatibility]
    found = run_checks(tags=tags, include_deployment_checks=True)
    return {str(message.id) for message in found if str(message.id).startswith("chat.")}


def well_set_up(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["chat.example.org"]
    settings.TYPEAGENT_SERVER_URL = "wss://agents.example.org"


def test_a_site_that_is_well_set_up_passes(settings: Settings) -> None:
    well_set_up(settings)
    assert own_ids() == set()


def test_a_key_that_the_site_made_is_told(settings: Settings, tmp_path: Path) -> None:
    well_set_up(settings)
    settings.SECRET_KEY_FILE = tmp_path / "key"
    settings.SECRET_KEY_FILE.write_text(f"{settings.SECRET_KEY}\n", encoding="utf-8")
    assert own_ids() == {"chat.W001"}


def test_any_host_is_told(settings: Settings) -> None:
    well_set_up(settings)
    settings.ALLOWED_HOSTS = ["*"]
    assert own_ids() == {"chat.W002"}


def test_debug_for_other_machines_is_an_error(settings: Settings) -> None:
    well_set_up(settings)
    settings.DEBUG = True
    assert own_ids() == {"chat.E003"}
    settings.ALLOWED_HOSTS = ["localhost"]
    assert own_ids() == set()


def test_no_agent_server_is_told(settings: Settings) -> None:
    well_set_up(settings)
    settings.TYPEAGENT_SERVER_URL = ""
    assert own_ids() == {"chat.W004"}
