"""What `manage.py check --deploy` says about the site's own settings."""

from __future__ import annotations

import runpy
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.core.checks import Tags, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from pytest_django import Settings

from chat import checks
from chat.link import company, lease, place
from chat.link.place import Place
from chat.models import Process
from tests.processes import ROOT, clean_environment, manage

pytestmark = pytest.mark.django_db

TTL = timedelta(seconds=6)
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


def own_ids() -> set[str]:
    tags = [Tags.security, Tags.compatibility]
    found = run_checks(tags=tags, include_deployment_checks=True)
    return {str(message.id) for message in found if str(message.id).startswith("chat.")}


def well_set_up(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["chat.example.org"]
    settings.TYPEAGENT_SERVER_URL = "wss://agents.example.org"
    settings.REDIS_URL = "" if connection.vendor == "sqlite" else "redis://127.0.0.1:6379/0"


def elsewhere(machine: str = "", run: str = "another run") -> None:
    """Another process that lives; on this machine, if none is given."""
    process_id = uuid4()
    lease.register(process_id, "channel")
    there = Process.objects.filter(id=process_id)
    there.update(machine=machine or place.here().machine, run=run)


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


def test_debug_behind_a_proxy_is_an_error(settings: Settings) -> None:
    well_set_up(settings)
    settings.ALLOWED_HOSTS = ["localhost"]
    settings.DEBUG = settings.TRUST_PROXY = True
    assert own_ids() == {"chat.E003"}


def test_relays_without_redis_are_an_error(settings: Settings) -> None:
    well_set_up(settings)
    settings.LINK_OWNERS, settings.REDIS_URL = "relay", ""
    assert "chat.E005" in own_ids()
    settings.REDIS_URL = "redis://127.0.0.1:6379/0"
    assert "chat.E005" not in own_ids()


@pytest.mark.parametrize(
    ("vendor", "redis", "told"),
    [
        ("sqlite", "", set()),
        ("sqlite", "redis://host", {"chat.W007"}),
        ("postgresql", "", {"chat.W008"}),
        ("postgresql", "redis://host", set()),
    ],
)
def test_half_of_what_several_processes_need_is_told(
    vendor: str, redis: str, told: set[str], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    well_set_up(settings)
    settings.REDIS_URL = redis
    monkeypatch.setattr(checks, "connection", SimpleNamespace(vendor=vendor))
    assert {message.id for message in checks.check_database_and_layer(None)} == told


MOUNTS = """
/dev/sda1 / ext4 rw 0 0
far:/home /srv/far nfs4 rw 0 0
/dev/sdb1 /srv/far/but\\040near xfs rw 0 0
//far/share /mnt cifs rw 0 0
me@far: /home/me fuse.sshfs rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "system"),
    [
        ("/srv/near", "ext4"),
        ("/srv/farther", "ext4"),
        ("/srv/far", "nfs4"),
        ("/srv/far/below", "nfs4"),
        ("/srv/far/but near", "xfs"),
        ("/mnt", "cifs"),
        ("/home/me/x", "sshfs"),
    ],
)
def test_sqlite_on_a_network_file_system_is_an_error(
    folder: str, system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS.lstrip(), encoding="utf-8")
    monkeypatch.setattr(checks, "MOUNTS", mounts)
    there = SimpleNamespace(vendor="sqlite", settings_dict={"NAME": f"{folder}/chat.sqlite3"})
    monkeypatch.setattr(checks, "connection", there)
    assert checks.file_system(Path(folder) / "chat.sqlite3") == system
    far = {message.id for message in checks.check_sqlite_is_near(None)} == {"chat.E006"}
    assert far == (system not in {"ext4", "xfs"})


def test_where_mounts_are_not_told_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "MOUNTS", tmp_path / "none")
    assert checks.file_system(tmp_path) == ""


def test_several_processes_on_the_layer_in_memory_are_an_error(settings: Settings) -> None:
    well_set_up(settings)
    elsewhere()
    assert "chat.E009" not in own_ids()
    elsewhere(run="a third")
    assert "chat.E009" in own_ids()
    Process.objects.update(beat_at=LONG_AGO)
    assert "chat.E009" not in own_ids()


def test_a_process_does_not_join_one_whose_pages_it_cannot_reach() -> None:
    elsewhere()
    Process.objects.update(started_at=LONG_AGO)
    me = uuid4()
    with pytest.raises(company.MayNotServe, match="Set REDIS_URL"):
        company.join(me, "channel", TTL, owns=True)
    assert not Process.objects.filter(id=me).exists()
    Process.objects.all().delete()
    company.join(me, "channel", TTL, owns=True)
    Process.objects.update(started_at=LONG_AGO)
    elsewhere()  # one that comes later has to wait, and not this one
    assert company.objection(lease.elders(me, TTL), place.here()) == ""


def test_machines_do_not_share_a_sqlite_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(company, "get_channel_layer", object)  # as with Redis
    monkeypatch.setattr(company, "connection", SimpleNamespace(vendor="sqlite"))
    here = place.here()
    assert company.objection([Place(here.machine, "another")], here) == ""
    assert company.objection([Place("another", "1")], here) == company.FAR_SQLITE
    monkeypatch.setattr(company, "connection", SimpleNamespace(vendor="postgresql"))
    assert company.objection([Place("another", "1")], here) == ""


WEAK = ["short", "a" * 60, "abcd" * 20, "django-insecure-0123456789abcdefghijklmnop"]


@pytest.mark.parametrize("key", WEAK)
def test_a_key_that_can_be_guessed_stops_the_start_but_not_in_development(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITE_DATA", str(tmp_path))
    monkeypatch.setenv("SECRET_KEY", key)
    with pytest.raises(ImproperlyConfigured, match=r"\ASECRET_KEY must be ") as refused:
        runpy.run_path(str(ROOT / "chatsite" / "settings.py"))
    assert key not in str(refused.value)
    monkeypatch.setenv("DEBUG", "true")
    assert runpy.run_path(str(ROOT / "chatsite" / "settings.py"))["SECRET_KEY"] == key


def test_an_error_stops_every_server(tmp_path: Path) -> None:
    env = clean_environment(
        SITE_DATA=str(tmp_path), DEBUG="true", ALLOWED_HOSTS="chat.example.org", TRUST_PROXY="true"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import chatsite.asgi"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "DEBUG is on, and ALLOWED_HOSTS lets other machines in." in done.stderr.splitlines()[-1]
    done = manage("check", env=env)
    assert done.returncode != 0
    assert "chat.E003" in done.stderr


@pytest.mark.parametrize(
    ("other", "gone"),
    [
        (Place("another machine", "pid:[1] 1 1"), False),
        (Place("", ""), False),
        (Place("{machine}", "pid:[1] 1 1"), False),
        (Place("{machine}", "{space} 1 0"), True),
        (Place("{machine}", "{space} {pid} {started}"), False),
        (Place("{machine}", "{space} 4194999 5"), True),
    ],
)
def test_only_a_dead_process_of_this_machine_is_known_to_be_dead(other: Place, gone: bool) -> None:
    here = place.here()
    space, pid, started = here.run.split(" ")
    words = {"machine": here.machine, "space": space, "pid": pid, "started": started}
    other = Place(other.machine.format(**words), other.run.format(**words))
    assert place.is_gone(other) == gone


def test_the_dead_of_this_machine_are_forgotten_at_once() -> None:
    space = place.here().run.split(" ")[0]
    elsewhere(run=f"{space} 4194999 5")
    elsewhere(machine="another", run=f"{space} 4194999 5")
    me = uuid4()
    lease.register(me, "channel")
    assert set(Process.objects.values_list("machine", flat=True)) == {
        place.here().machine,
        "another",
    }
    assert Process.objects.count() == 2
