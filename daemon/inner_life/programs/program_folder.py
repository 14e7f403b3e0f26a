"""The folder of a program's run, and the program's output as text for the model.

The program can write there, so only plain files are read, up to a limit. Control characters are removed, then
secrets masked, then the text cut, so that no part of a secret remains.
"""

from __future__ import annotations

import asyncio
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

from daemon.engine.event import Entry, storable_text
from daemon.kinds import ProgramStarted, Status
from daemon.sandbox.foreign_output import (
    head_and_tail,
    mask_head,
    mask_secrets,
    mask_tail,
    strip_control_characters,
)

MOST_STATUS_BYTES = 2**16
"""Most bytes of a status file."""


NAME = re.compile("[0-9a-f]{32}")


CLAIM = re.compile("[0-9a-f]{32}[.][0-9a-f]{16}")
"""Name of a folder whose wrapper has not yet renamed it."""


WRAPPER_LATE_SECONDS = 30.0
"""Seconds after which a wrapper that has not started does not run its program."""


FOLDER_KEPT_SECONDS = 2 * WRAPPER_LATE_SECONDS
"""Seconds for which a folder is kept, since a late wrapper may look for it."""


ENDS = 5.0
"""Seconds that a wrapper may take to end after SIGTERM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramExit:
    """The end of a run; `why` is `exited`, `late`, `stopped`, `full`, `orphaned` or
    `unstartable`.

    `exit` is the exit status or a negative signal; `stdout` and `stderr` count bytes.
    """

    why: str
    exit: int = 0
    error: str = ""
    seconds: float = 0.0
    stdout: int = 0
    stderr: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedOutput:
    """Kept output; `lost` bytes between head and tail were not kept."""

    head: bytes
    tail: bytes = b""
    lost: int = 0


def program_folder_of(home: Path, started: Entry[ProgramStarted]) -> Path:
    """Return the folder of a run; its name is unique across journals."""
    return home / hashlib.sha256(f"{started.key} {started.at!r}".encode()).hexdigest()[:32]


def wrapper_pid(folder: Path) -> int | None:
    """Return the pid of a running wrapper; None if no wrapper runs or the file is invalid.

    The program can write the pid file. A pid below 1 would address a process group, and 1 is init.
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
    """Return the end of a run; None without a valid status file."""
    try:
        said: Any = json.loads(_read(folder / "status", MOST_STATUS_BYTES))
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
    """Return the kept output of the stream `name`, `total` bytes long."""
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
    pid = wrapper_pid(folder)
    if pid is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGTERM)
    last = time.monotonic() + ENDS
    while wrapper_pid(folder) is not None and time.monotonic() < last:
        time.sleep(0.05)
    _remove(folder)


def _remove(folder: Path) -> None:
    for tool in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        subprocess.run([*tool, "--", folder], check=False, stderr=subprocess.DEVNULL)


def remove_old_folders(home: Path, needed: Collection[str]) -> bool:
    """Remove folders that are not `needed`, unless recent or of a running wrapper. True if no such folder is
    left.
    """
    gone = True
    for path in _folders(home):
        if path.name not in needed:
            if _claimed_at(path) < time.time() - FOLDER_KEPT_SECONDS and wrapper_pid(path) is None:
                _remove(path)
            gone = gone and not path.exists()
    return gone


def folder_age(folder: Path) -> float:
    return time.time() - _claimed_at(folder)


def _claimed_at(folder: Path) -> float:
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
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(f"expected a plain file: {path.name}")
        return opened.read(most)


MOST_KEPT = 2 * 2**20
"""Most bytes kept of each stream."""


MOST = {"stdout": 4_000, "stderr": 2_000}
"""Most characters shown of each stream."""


STOPPED = "It was stopped, as you wanted."


ORPHANED = "It was ended with the daemon that ran it."


LOST_STATUS = "It is lost: nothing runs any more, and nobody saw it end. What it did is not known."


NOT_BEGUN = "It was stopped before it had begun."


UNSTARTED = "It was not started: its folder cannot be made."


async def outcome_in_words(
    folder: Path, end: ProgramExit, secrets: Collection[str], *, stopped: bool
) -> tuple[Status, str]:
    """Return status and text of a run; `stopped` means that the inner life stopped it."""
    if end.why == "unstartable":
        error = mask_secrets(strip_control_characters(end.error.encode(errors="replace")), secrets)
        return "error", f"It was not started: {error}."
    return await asyncio.to_thread(_exit_in_words, folder, end, secrets, stopped)


def _exit_in_words(
    folder: Path, end: ProgramExit, secrets: Collection[str], stopped: bool
) -> tuple[Status, str]:
    totals = {"stdout": end.stdout, "stderr": end.stderr}
    parts: dict[str, str] = {}
    for name, most in MOST.items():
        kept = read_output(folder, name, totals[name], MOST_KEPT)
        place = f"{folder.parent.name}/{folder.name}/{name}"
        parts[name] = output_in_words(kept, secrets, most, place)
    status, first = _status(end, bool(parts["stderr"]), stopped)
    lines = [f"{first} It took {end.seconds:.1f} s."]
    for name, text in parts.items():
        if text:
            lines += [f"{name}:", text]
    if not any(parts.values()):
        lines.append("It wrote nothing.")
    return status, "\n".join(lines)


def _status(end: ProgramExit, complained: bool, stopped: bool) -> tuple[Status, str]:
    if end.why == "late" or end.exit == -signal.SIGXCPU:
        return "timeout", "Its time was up, and it was ended."
    if end.why == "stopped":
        if not stopped:
            return "error", "It was ended from outside."
        return "error", STOPPED
    if end.why == "orphaned":
        return "offline", ORPHANED
    if end.why == "full":
        return "error", "It wrote too much into its folder, and was ended."
    if end.exit < 0:
        return "error", f"It was ended by {_signal(-end.exit)}."
    if end.exit > 0:
        return "error", f"It ended with exit status {end.exit}."
    if complained:
        return "warning", "It ended well, and complained."
    return "ok", "It ended well."


def _signal(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def output_in_words(kept: CapturedOutput, secrets: Collection[str], most: int, place: str) -> str:
    """Return the output, or its head and tail; `place` names the file with the rest for owners."""
    head, tail = strip_control_characters(kept.head), strip_control_characters(kept.tail)
    if kept.lost:
        head, tail = mask_head(head, secrets), mask_tail(tail, secrets)
        left = kept.lost + _over(head, most) + _over(tail, most)
        head, tail = head[: most // 2], tail[-(most // 2) :]
    else:
        whole = mask_secrets(head, secrets).strip()
        head, tail = head_and_tail(whole, most)
        left = len(whole) - len(head) - len(tail)
    if not left:
        return head
    between = f"[about {left:,} characters are left out here; an owner finds more in {place}]"
    return "\n".join([head, between, tail])


def _over(text: str, most: int) -> int:
    return max(0, len(text) - most // 2)
