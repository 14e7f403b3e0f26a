"""Wrapper of an owner's program: it claims a folder, limits the run and writes its status.

The folder is claimed first and the status written last, so that no program starts twice and a restarted
daemon finds the result. Runs as `python -I`, standard library only.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import selectors
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import IO, Any

CHUNK = 2**16
"""Most bytes of one read."""


TAIL = 2**16
"""Bytes kept of the end of a long output."""


GRACE = 2.0
"""Seconds from SIGTERM to SIGKILL, and at most for killing the descendants."""


LOOK = 1.0
"""Seconds between two checks of the folder's size."""


DEEP = 3_800
"""Most bytes of a path in the folder: Linux takes at most 4,096."""


DRAIN = 1.0
"""Most seconds for the rest of the output after the end of a program."""


PARENT_DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36


def main(place: str, text: str) -> None:
    """Run the program as ordered, unless another wrapper has claimed the folder or the order is too old."""
    os.umask(0o077)
    with suppress(PermissionError):  # the process leads a session already
        os.setsid()
    order = json.loads(text)
    folder = Path(place)
    wakes, sent = os.pipe()
    os.set_blocking(sent, False)
    signal.set_wakeup_fd(sent, warn_on_full_buffer=False)
    asked: list[int] = []

    def hear(number: int, _: FrameType | None) -> None:
        if number == signal.SIGTERM:
            asked.append(number)

    signal.signal(signal.SIGTERM, hear)
    signal.signal(signal.SIGCHLD, hear)  # the signal only needs to wake the event loop
    if asked or time.time() > order["until"] or not claim(folder):
        return
    status = ProgramProcess(folder, order, asked, wakes).end()
    unfinished = folder / "status.new"
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump(status, file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(folder / "status")


def claim(folder: Path) -> bool:
    """Make the folder atomically; False if it exists. A lock shows that the wrapper runs."""
    mine = folder.with_name(f"{folder.name}.{os.urandom(8).hex()}")
    mine.mkdir(mode=0o700, parents=True)
    (mine / "work").mkdir()
    held = os.open(mine / "wrapper", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    os.write(held, str(os.getpid()).encode())
    try:
        mine.rename(folder)
    except OSError:
        shutil.rmtree(mine)
        return False
    return True


class OutputCapture:
    def __init__(self, source: IO[bytes], path: Path, most: int) -> None:
        self.source = source
        self._path = path
        self._file = path.open("xb", buffering=0)
        self._room = most
        self._tail = b""
        self._total = 0

    def take(self) -> bool:
        """Read the available bytes; False at the end of the output."""
        data = os.read(self.source.fileno(), CHUNK)
        self._total += len(data)
        if data and self._room:
            with suppress(OSError):  # the disk is full: the bytes are counted, but not kept
                self._file.write(data[: self._room])
        self._tail = (self._tail + data[self._room :])[-TAIL:]
        self._room = max(0, self._room - len(data))
        return bool(data)

    def close(self) -> int:
        """Write the kept end; return the bytes of the whole output."""
        self._file.close()
        if self._tail:
            with suppress(OSError):
                self._path.with_suffix(".tail").write_bytes(self._tail)
        return self._total


class ProgramProcess:
    """A run of a program and its descendants."""

    def __init__(self, folder: Path, order: dict[str, Any], asked: list[int], wakes: int) -> None:
        self._folder = folder
        self._order = order
        self._asked = asked
        self._wakes = wakes
        self._why = "exited"
        self._began = time.monotonic()
        self._looked = self._began

    def end(self) -> dict[str, Any]:
        """Run the program to its end; return its status as JSON."""
        with suppress(OSError, AttributeError):
            # orphaned descendants become children of this process
            ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1, 0, 0, 0)
        work = self._folder / "work"
        environment = {"PATH": self._order["path"], "HOME": str(work), "LANG": "C.UTF-8"}
        try:
            child = subprocess.Popen(
                self._order["argv"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=work,
                env=environment,
                start_new_session=True,
                preexec_fn=self._set_limits,
            )
        except (OSError, subprocess.SubprocessError) as error:
            reason = getattr(error, "strerror", "")
            return {"why": "unstartable", "error": reason or "its limits cannot be set"}
        assert child.stdout
        assert child.stderr
        kept = self._order["kept"]
        out = OutputCapture(child.stdout, self._folder / "stdout", kept)
        err = OutputCapture(child.stderr, self._folder / "stderr", kept)
        self._watch(child, [out, err])
        written = {"stdout": out.close(), "stderr": err.close()}
        seconds = time.monotonic() - self._began
        return {"why": self._why, "exit": child.returncode, "seconds": seconds, **written}

    def _watch(self, child: subprocess.Popen[bytes], streams: list[OutputCapture]) -> None:
        deadline = self._began + self._order["seconds"]
        last = 0.0
        with selectors.DefaultSelector() as selector:
            selector.register(self._wakes, selectors.EVENT_READ)
            for stream in streams:
                selector.register(stream.source, selectors.EVENT_READ, stream)
            while child.poll() is None:
                now = time.monotonic()
                if not last and self._must_end(now, deadline):
                    last = now + GRACE
                    signal_group(child.pid, signal.SIGTERM)
                elif last and now >= last:
                    signal_group(child.pid, signal.SIGKILL)
                    end_children(child.pid)
                self._take(selector, min(LOOK, max(0.01, (last or deadline) - now)))
            signal_group(child.pid, signal.SIGKILL)
            end_children()
            drained = time.monotonic() + DRAIN
            while len(selector.get_map()) > 1 and time.monotonic() < drained:
                self._take(selector, DRAIN)

    def _take(self, selector: selectors.BaseSelector, seconds: float) -> None:
        for key, _ in selector.select(seconds):
            if key.data is None:
                os.read(self._wakes, CHUNK)
            elif not key.data.take():
                selector.unregister(key.fileobj)

    def _must_end(self, now: float, deadline: float) -> bool:
        if self._asked:
            self._why = "stopped"
        elif self._order.get("daemon") and os.getppid() != self._order["daemon"]:
            self._why = "orphaned"
        elif now >= deadline:
            self._why = "late"
        elif now >= self._looked + LOOK:
            self._looked = now
            if is_too_large(self._folder / "work", self._order["room"]):
                self._why = "full"
        return self._why != "exited"

    def _set_limits(self) -> None:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        limits = {
            resource.RLIMIT_AS: self._order["memory"],
            resource.RLIMIT_CPU: int(self._order["seconds"]) + 1,
            resource.RLIMIT_FSIZE: self._order["room"],
            resource.RLIMIT_NOFILE: self._order["files"],
            resource.RLIMIT_NPROC: count_tasks() + self._order["processes"],
            resource.RLIMIT_CORE: 0,
        }
        for limit, most in limits.items():
            hard = resource.getrlimit(limit)[1]
            if hard != resource.RLIM_INFINITY:
                most = min(most, hard)
            with suppress(ValueError, OSError):  # macOS cannot limit the address space
                resource.setrlimit(limit, (most, most))


def signal_group(leader: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def end_children(but: int = 0) -> None:
    """Kill all children in any session, except the pid `but`."""
    until = time.monotonic() + GRACE
    while time.monotonic() < until:
        left = [pid for pid in child_pids() if pid != but]
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
        if not left:
            return


def child_pids() -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            parent = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append(int(path.parent.name))
    return found


def count_tasks() -> int:
    """Count the user's processes and threads, which RLIMIT_NPROC limits together."""
    count = 0
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if path.stat().st_uid == os.getuid():
                count += len([*(path / "task").iterdir()])
    return count


def is_too_large(folder: Path, most: int) -> bool:
    """True if the folder takes more than `most` bytes (at least a block per file) or a path is too long."""
    total = 0
    places = [str(folder)]
    for place in places:
        if len(os.fsencode(place)) > DEEP:
            return True
        with suppress(OSError), os.scandir(place) as found:
            for one in found:
                if one.is_dir(follow_symlinks=False):
                    places.append(one.path)
                with suppress(OSError):
                    total += max(4096, one.stat(follow_symlinks=False).st_size)
                if total > most:
                    return True
    return False


if __name__ == "__main__":
    main(*sys.argv[1:])
