"""A program that is interrupted when the process that started it ends, however that ends (on Linux)."""

from __future__ import annotations

import ctypes
import os
import pwd
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

PARENT_DEATH_SIGNAL = 1
"""Option of prctl(2)."""


def tied_command(command: Sequence[str], user: pwd.struct_passwd | None = None) -> list[str]:
    """Return a command that runs `command`, as `user`, until the thread that starts it ends."""
    ids = [str(user.pw_uid), str(user.pw_gid)] if user else ["-", "-"]
    return [sys.executable, "-I", __file__, str(os.getpid()), *ids, *command]


def become(parent: int, uid: str, gid: str, command: list[str]) -> None:
    if uid != "-":
        os.setgroups([])
        os.setgid(int(gid))
        os.setuid(int(uid))
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, int(signal.SIGINT), 0, 0, 0)
    if os.getppid() == parent:
        os.execv(command[0], command)


if __name__ == "__main__":
    become(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
