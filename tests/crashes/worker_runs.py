"""Worker runs: forked processes that end by themselves, are killed, or are paused."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.attention import PATIENCE, run
from tests.crashes.json_lines import read_lines
from tests.machine import without_certificates

RUNS = "worker-runs.jsonl"
"""File with the phase of each run of a home."""


@dataclass(frozen=True, slots=True)
class WorkerRun:
    """Process of a worker."""

    pid: int

    def kill(self, sent: signal.Signals = signal.SIGKILL) -> int:
        """Send a signal; return the exit status."""
        os.kill(self.pid, sent)
        return self.wait()

    def wait(self) -> int:
        """Return the exit status, negative for a signal."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def wait_until_paused(self) -> int | None:
        """Wait for a stop; return the exit status if the process ended first."""
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        return None if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)

    def is_running(self) -> bool:
        return os.waitpid(self.pid, os.WNOHANG) == (0, 0)


def fork(work: Callable[[], Coroutine[Any, Any, None]], seconds: float = PATIENCE) -> WorkerRun:
    """Fork a process that exits with 0, or 3 on failure or timeout."""
    if pid := os.fork():
        return WorkerRun(pid)
    if "VERBOSE" not in os.environ:
        logging.disable()
    without_certificates()
    try:
        run(asyncio.wait_for(work(), seconds))
        os._exit(0)
    except BaseException:  # noqa: BLE001  whatever ends a run, the process ends with it
        traceback.print_exc()
        os._exit(3)


def resume(*paused: WorkerRun) -> list[int]:
    """Resume runs together; return their exit statuses."""
    for one in paused:
        os.kill(one.pid, signal.SIGCONT)
    return [one.wait() for one in paused]


def count_runs(home: Path) -> int:
    return len(read_lines(home / RUNS))
