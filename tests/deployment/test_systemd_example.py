"""systemd takes the README's unit, and stops a process no sooner than it ends itself."""

from __future__ import annotations

import configparser
import subprocess
from pathlib import Path

from chatsite import settings
from tests.deployment.readme import blocks, installed
from tests.processes import ROOT

(UNIT,) = blocks("ini")


def test_it_is_a_unit_without_a_fault(tmp_path: Path) -> None:
    analyse = installed("systemd-analyze", "systemd", needed_in_ci=False)
    file = tmp_path / "typeagent-chat@8001.service"
    # The program must be there; the rest is read as it stands.
    file.write_text(UNIT.replace("/opt/typeagent-chat", str(ROOT)), encoding="utf-8")
    done = subprocess.run(
        [analyse, "verify", "--man=no", str(file)], capture_output=True, text=True, check=False
    )
    complaints = [line for line in done.stderr.splitlines() if file.name in line]
    assert (done.returncode, complaints) == (0, []), done.stderr


def test_it_waits_longer_than_a_process_takes_to_end_itself() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT)
    service = unit["Service"]
    assert int(service["TimeoutStopSec"]) >= settings.STOP_WITHIN_S + 5
    assert service["KillSignal"] == "SIGTERM"
    assert "-p %i " in service["ExecStart"]
