"""What the Dockerfile copies and runs makes a site, tried step by step without Docker."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.deployment.plain import listens
from tests.processes import PATIENCE_S, ROOT, clean_environment, free_port

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")
KEY = "a-key-that-only-this-test-uses-0123456789abcdef"


def instruction(pattern: str) -> str:
    found = re.findall(pattern, DOCKERFILE, re.MULTILINE)
    assert len(found) == 1, pattern
    return str(found[0])


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `/app` as it is after the build, but for the packages."""
    app = tmp_path_factory.mktemp("app")
    for names in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        for name in names.split():
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, app / name)
            else:
                shutil.copy(ROOT / name, app)
    (app / "uv.lock").touch()
    collect = instruction(r"^RUN (.*collectstatic.*)$").replace("/app", str(app))
    collect = collect.replace(".venv/bin/python", sys.executable)
    collect = collect.replace("/tmp/data", str(app / "only-now"))  # noqa: S108
    env = clean_environment()
    subprocess.run(["bash", "-c", collect], cwd=app, env=env, check=True)
    return app


def test_it_serves_pages_and_its_health_check_says_so(app: Path, tmp_path: Path) -> None:
    port = free_port()
    env = clean_environment(
        SECRET_KEY=KEY,
        SITE_DATA=str(tmp_path),
        STATIC_ROOT=str(app / "collected"),
        ALLOWED_HOSTS="chat.example.org",
        TYPEAGENT_SERVER_URL="ws://127.0.0.1:1",
    )
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "-v", "0"], cwd=app, env=env, check=True
    )
    command = json.loads(instruction(r"^CMD (\[.*\])$"))
    command = [str(port) if word == "8000" else word for word in command]
    program = [str(Path(sys.executable).with_name(command[0])), *command[1:]]
    health = json.loads(instruction(r"^HEALTHCHECK .* CMD (\[.*\])$").replace("8000", str(port)))
    with subprocess.Popen(program, cwd=app, env=env) as site:
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not listens(port):
                assert site.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
            subprocess.run([sys.executable, *health[1:]], check=True)
        finally:
            site.terminate()
        assert site.wait(PATIENCE_S) == 0
    assert subprocess.run([sys.executable, *health[1:]], capture_output=True).returncode != 0


def test_every_file_can_be_read_by_its_user_and_no_data_is_left(app: Path) -> None:
    assert (app / "collected" / "staticfiles.json").is_file()
    assert not (app / "only-now").exists()
    assert not (app / "data").exists()
    for folder, _, files in os.walk(app / "collected"):
        for path in (Path(folder), *(Path(folder) / name for name in files)):
            assert path.stat().st_mode & stat.S_IROTH, path
