"""Process that forks daemons with all imports done, which saves seconds.

Each has a keeper: a fork that starts it, waits and reports its exit status.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import sys
from typing import Any

from daemon.app.daemon import start_daemon
from daemon.app.doctor import examine_installation
from daemon.app.read_command import read_in_terminal
from daemon.lifetime import run_until_failure
from daemon.settings.home import project_root
from rehearsal.rehearsed import RehearsalServers
from tests.made_before import make_before_a_fork

LOADED = (start_daemon, run_until_failure, read_in_terminal, examine_installation, RehearsalServers)
"""Named, so that their modules are loaded."""
LONGEST = 100_000
"""Bytes."""
MANY = 256
"""Bound of open file descriptors."""


def main() -> None:
    """Read orders from the socket at stdin: command, environment, descriptors."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are not waited for
    make_before_a_fork(project_root())
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as orders:
        while True:
            said, files, _, _ = socket.recv_fds(orders, LONGEST, 3)
            if not said:
                return
            if not os.fork():
                break
            for file in files:
                os.close(file)
    keep(json.loads(said), *files)


def keep(order: dict[str, Any], out: int, err: int, fate: int) -> None:
    """Start a daemon; only its process returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if born := os.fork():
        os.close(out)
        os.close(err)
        os.write(fate, b"%d\n" % born)
        status = os.waitstatus_to_exitcode(os.waitpid(born, 0)[1])
        os.write(fate, b"%d\n" % status)
        os._exit(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdout = os.fdopen(1, "w", closefd=False)  # the old ones may be of another kind
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.closerange(3, MANY)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(project_root())
    sys.argv[1:] = order["command"]
    runpy.run_module("daemon", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
