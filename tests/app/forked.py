"""Commands of `python -m daemon` in forks of one process, which has imported all that they need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from daemon.settings.home import project_root

KEEPER = """
import json, os, sys
import daemon.app.move_command
from daemon.__main__ import main
for line in sys.stdin:
    order = json.loads(line)
    born = os.fork()
    if not born:
        for name, number in (("out", 1), ("err", 2)):
            os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        os.environ.clear()
        os.environ.update(order["env"])
        sys.argv = ["daemon", *order["argv"]]
        status = main()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    print(born, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(born, 0)[1]), flush=True)
"""


class ForkedCommands:
    """Commands, one after the other. What they print goes to files in `folder`."""

    def __init__(self, keeper: subprocess.Popen[str], folder: Path) -> None:
        self._keeper = keeper
        self._folder = folder

    def start(self, *argv: str, **env: str) -> int:
        """Start a command with these variables alone; return its process id."""
        assert self._keeper.stdin
        order: dict[str, Any] = {"argv": argv, "env": {"PATH": os.environ["PATH"], **env}}
        order |= {name: str(self._folder / name) for name in ("out", "err")}
        self._keeper.stdin.write(f"{json.dumps(order)}\n")
        self._keeper.stdin.flush()
        return self._number()

    def wait(self) -> tuple[int, str, str]:
        """Return the exit status of the command that was started, and what it printed."""
        status = self._number()
        return status, (self._folder / "out").read_text(), (self._folder / "err").read_text()

    def run(self, *argv: str, **env: str) -> tuple[int, str, str]:
        self.start(*argv, **env)
        return self.wait()

    def _number(self) -> int:
        assert self._keeper.stdout
        return int(self._keeper.stdout.readline())


@contextmanager
def forked_commands(folder: Path) -> Iterator[ForkedCommands]:
    command = [sys.executable, "-c", KEEPER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=project_root(), stdin=pipe, stdout=pipe, text=True) as keeper:
        yield ForkedCommands(keeper, folder)
        assert keeper.stdin
        keeper.stdin.close()
