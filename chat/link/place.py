"""Where this process runs, so that another one can tell whether it still does."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROC = Path("/proc")
STATE, STARTED = 0, 19  # of /proc/<pid>/stat, counted from behind the name


@dataclass(frozen=True, slots=True)
class Place:
    """`machine` is the same for all containers on one kernel. `run` names one run of a program:
    numbers of processes are given anew, and each container counts for itself.
    """

    machine: str
    run: str


@cache
def here() -> Place:
    """This process."""
    try:
        machine = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return Place(machine, f"{_pid_space()} {os.getpid()} {_stat(os.getpid())[STARTED]}")
    except OSError:
        return Place(socket.gethostname()[:64], f"- {os.getpid()} -")


def is_gone(other: Place) -> bool:
    """Whether that process is certainly dead, which only its own machine can tell."""
    me = here()
    space, _, rest = other.run.partition(" ")
    pid, _, started = rest.partition(" ")
    if other.machine != me.machine or space == "-" or space != me.run.partition(" ")[0]:
        return False
    try:
        os.kill(int(pid), 0)  # sends nothing
        stat = _stat(int(pid))
    except (ProcessLookupError, FileNotFoundError):
        return True
    except PermissionError:
        return False
    return stat[STARTED] != started or stat[STATE] == "Z"


def _pid_space() -> str:
    """Names the set of processes that see each other."""
    return os.readlink(PROC / "self/ns/pid")


def _stat(pid: int) -> list[str]:
    return (PROC / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
