"""What the README shows, to be tried as it stands there."""

from __future__ import annotations

import os
import re
import shutil

import pytest

from tests.processes import ROOT


def blocks(language: str) -> list[str]:
    """The code blocks in that language."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)


def installed(name: str, package: str, *, needed_in_ci: bool = True) -> str:
    """The path of a program. Without it a test is skipped, but in CI it fails."""
    # Debian keeps some where only an administrator's shell looks.
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        reason = f"no {name} here: install Debian's package {package}"
        if needed_in_ci and os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found
