"""The folder that a process runs in: who lives in it, how it ended, what it wrote.

Nothing in it is trusted: the program can reach its own folder. All is read bounded, and plain files only.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.writable import storable_text
from daemon.kinds import ProgramStarted

LONG = 2**16
"""Bytes of a status file at most."""
NAME = re.compile("[0-9a-f]{32}")
CLAIM = re.compile("[0-9a-f]{32}[.][0-9a-f]{16}")
"""The name of a folder that a wrapper was about to move in place when it died."""
WRAPPER_LATE_SECONDS = 30.0
"""Seconds after which a wrapper that was started does not begin any more."""
FOLDER_KEPT_SECONDS = 2 * WRAPPER_LATE_SECONDS
"""Seconds that a folder stays at least, so that a wrapper that comes late finds it."""

ENDS = 5.0
"""Seconds in which a wrapper that is asked to end has ended, with all that runs in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramExit:
    """How a run ended. `why`: it `exited`, was `late`, `stopped`, or its folder `full`; or is `unstartable`.

    `exit` is its status, negative for the signal that ended it, `written` how many bytes each stream had.
    """

    why: str
    exit: int = 0
    error: str = ""
    seconds: float = 0.0
    stdout: int = 0
    stderr: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedOutput:
    """What is kept of a stream: its head, and its tail if `lost` bytes between them are not kept."""

    head: bytes
    tail: bytes = b""
    lost: int = 0


def program_folder_of(home: Path, started: Entry[ProgramStarted]) -> Path:
    """Where this process runs: its key and its time are its own, in whatever journal it stands."""
    return home / hashlib.sha256(f"{started.key} {started.at!r}".encode()).hexdigest()[:32]


def wrapper_pid(folder: Path) -> int | None:
    """The pid of the wrapper that lives in this folder; None: none does, or its file names what is none.

    A program can write there, too: 0 and what is below stand for many processes, 1 is nobody's to end, and
    no system has so large a one.
    """
    try:
        held = os.open(folder / "wrapper", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with suppress(ValueError):
            pid = int(os.read(held, 20))
            if 1 < pid < 2**31:
                return pid
    finally:
        os.close(held)
    return None


def read_exit(folder: Path) -> ProgramExit | None:
    """How the run in this folder ended; None where nothing tells it."""
    try:
        said: Any = json.loads(_read(folder / "status", LONG))
    except (OSError, ValueError, RecursionError):
        return None
    match said:
        case {"why": "unstartable", "error": str(error)}:
            return ProgramExit(why="unstartable", error=storable_text(error[:200]))
        case {
            "why": str(why),
            "exit": int(code),
            "seconds": float(seconds),
            "stdout": int(out),
            "stderr": int(err),
        }:
            return ProgramExit(why=why, exit=code, seconds=seconds, stdout=out, stderr=err)
        case _:
            return None


def read_output(folder: Path, name: str, total: int, most: int) -> CapturedOutput:
    """What is kept of the stream of this name, of which there were so many bytes."""
    head = tail = b""
    with suppress(OSError):
        head = _read(folder / name, most)
    with suppress(OSError):
        tail = _read(folder / f"{name}.tail", most)
    lost = total - len(head) - len(tail)
    if lost <= 0:
        return CapturedOutput(head=head + tail)
    return CapturedOutput(head=head, tail=tail, lost=lost)


def end_and_remove(folder: Path) -> None:
    """Take it away; whoever lives in it is asked to end first, and waited for as long as that may take."""
    pid = wrapper_pid(folder)
    if pid is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGTERM)
    last = time.monotonic() + ENDS
    while wrapper_pid(folder) is not None and time.monotonic() < last:
        time.sleep(0.05)
    _take_down(folder)


def _take_down(folder: Path) -> None:
    """A program may have made folders that it let nobody write to, and more within each other than Python can
    take away."""
    for tool in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        subprocess.run([*tool, "--", folder], check=False, stderr=subprocess.DEVNULL)


def remove_old_folders(home: Path, needed: Collection[str]) -> bool:
    """Take away all folders there but these (their names), and those of wrappers that died too early.

    Returns whether all are gone: one that was just made stays for a moment.
    """
    gone = True
    for path in _folders(home):
        if path.name not in needed:
            if _made(path) < time.time() - FOLDER_KEPT_SECONDS and wrapper_pid(path) is None:
                _take_down(path)
            gone = gone and not path.exists()
    return gone


def folder_age(folder: Path) -> float:
    """Seconds since it was claimed, which is when its program was begun."""
    return time.time() - _made(folder)


def _made(folder: Path) -> float:
    """When it was claimed."""
    for path in (folder / "wrapper", folder):
        with suppress(OSError):
            return path.lstat().st_mtime
    return 0.0


def _folders(home: Path) -> Iterator[Path]:
    try:
        found = sorted(home.iterdir())
    except OSError:
        return
    for path in found:
        if (NAME.fullmatch(path.name) or CLAIM.fullmatch(path.name)) and not path.is_symlink():
            yield path


def _read(path: Path, most: int) -> bytes:
    """The first so many bytes of a plain file. Raises OSError where it is none."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(f"{path.name} is no plain file")
        return opened.read(most)
