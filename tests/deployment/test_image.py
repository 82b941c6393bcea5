"""The Dockerfile passes its linter, and the image has what it should and no more."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.processes import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
IGNORED = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


def test_hadolint_finds_nothing_and_no_rule_is_ignored() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run(
        [hadolint, "--no-color", "--failure-threshold", "style", "Dockerfile"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    assert "hadolint ignore" not in DOCKERFILE
    assert not list(ROOT.glob(".hadolint.y*ml"))


def test_the_builder_gets_the_sites_own_folders_and_nothing_else() -> None:
    let_in = {line[1:].rstrip("/") for line in IGNORED if line.startswith("!")}
    assert IGNORED[1] == "*"
    assert all((ROOT / name).exists() for name in let_in)
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)
    assert {name for names in copied for name in names.split()} == let_in


def test_it_runs_as_a_user_of_its_own_and_is_stopped_by_sigterm() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    user = re.search(r"^USER (\d+)$", last, re.MULTILINE)
    assert user
    assert f"useradd --uid {user[1]} " in last
    assert "\nSTOPSIGNAL SIGTERM\n" in last
    assert "/healthz" in last.partition("\nHEALTHCHECK ")[2]


def test_it_has_the_python_that_the_project_is_made_with() -> None:
    version = (ROOT / ".python-version").read_text(encoding="utf-8").strip()
    assert re.findall(r"^FROM python:([\d.]+)-", DOCKERFILE, re.MULTILINE) == [version, version]
