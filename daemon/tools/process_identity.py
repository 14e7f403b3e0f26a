"""Identity of a process, which no later one with its pid has: by `/proc`, or by `ps` where there is none."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
BOOT = PROC / "sys/kernel/random/boot_id"

ENDED = "ZX"
"""States of a process that has ended and that nobody has asked about yet."""

PS_TIME = "%a %b %d %H:%M:%S %Y"

PATIENCE = 5.0
"""Seconds that `ps` may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """A process; `started` is in clock ticks since this `boot`, or in Unix seconds if that is empty."""

    pid: int
    started: int
    boot: str


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of a process; None if it has ended."""
    return identify_by_proc(pid) if BOOT.exists() else identify_by_ps(pid)


def identify_by_proc(pid: int) -> ProcessIdentity | None:
    try:
        line = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        boot = BOOT.read_text(encoding="ascii").strip()
        state, *fields = line.rpartition(")")[2].split()
        started = int(fields[18])
    except (OSError, ValueError, IndexError):
        return None
    if state in ENDED:
        return None
    return ProcessIdentity(pid=pid, started=started, boot=boot)


def identify_by_ps(pid: int) -> ProcessIdentity | None:
    try:
        state, _, began = _ps("-o", "state=,lstart=", "-p", str(pid)).strip().partition(" ")
        started = int(time.mktime(time.strptime(" ".join(began.split()), PS_TIME)))
    except (OSError, ValueError, OverflowError, subprocess.SubprocessError):
        return None
    if state[:1] in ENDED:
        return None
    return ProcessIdentity(pid=pid, started=started, boot="")


def group_members(group: int) -> Iterator[int]:
    """Yield the pids of a process group that is a session of its own."""
    for pid in _all_pids():
        with suppress(OSError):
            if os.getpgid(pid) == group and os.getsid(pid) == group:
                yield pid


def _all_pids() -> list[int]:
    if BOOT.exists():
        return [int(path.name) for path in PROC.glob("[0-9]*")]
    try:
        return [int(line) for line in _ps("-A", "-o", "pid=").split()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []


def _ps(*options: str) -> str:
    asked = subprocess.run(
        ["ps", *options],
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return asked.stdout
