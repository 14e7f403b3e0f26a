"""Fake month over the wire, with restarts and outages, to measure growth.

`python -m tests.wire.month --messages 10000 --minutes 60`; `make soak` runs a short one.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from daemon.app.daemon import start_daemon
from daemon.engine.event import Input
from daemon.engine.journal.reader import open_reader
from daemon.engine.kinds import TurnBegan
from daemon.kinds import SOUL_KINDS
from daemon.lifetime import run_until_failure
from daemon.settings.limits import Limits
from tests.crashes.json_lines import read_lines
from tests.crashes.trial import violation_of
from tests.crashes.worker_runs import WorkerRun, fork
from tests.texts import whole
from tests.wire.checks import check_outcome
from tests.wire.kill_points import ArmedKillPoint
from tests.wire.month_world import DIARY, KILLED, QUIET, STOPPED, STUCK, MonthWorld, days_of, month, trouble
from tests.wire.scenario import WireScenario
from tests.wire.shared_page import FastClock, SharedPage
from tests.wire.worker_runs import FOREVER, open_home, run_world, settings_for

SETTINGS = {"budget_daily_usd": 1e6, "limit_thread": Limits(), "limit_person": Limits()}
LOOK = 0.1
REST = 0.5
"""Real seconds between worker runs."""
FEW = 3
SENT = {KILLED: signal.SIGKILL, STOPPED: signal.SIGTERM}
ENDS = 120.0
"""Real seconds for pending work at the end."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class DayReport:
    """Figures of a day.

    `said`: messages since the start. `file`: bytes of the journal. `memory`: megabytes. `waited`: median
    seconds until an answer. `cpu`: seconds a message; None if the daemon restarted.
    """

    number: int
    said: int
    file: int
    memory: float
    waited: float
    cpu: float | None

    @property
    def quiet(self) -> bool:
        """True if nothing went wrong."""
        return self.number > 0 and trouble(self.number) == QUIET

    def __str__(self) -> str:
        cpu = f"{self.cpu * 1e3:5.1f} ms" if self.cpu else ""
        return (
            f"day {self.number + 1:2} {self.said:6,} messages {self.file / self.said / 1e3:6.2f} kB each"
            f" {self.memory:5.0f} MB  answered in {self.waited * 1e3:5.0f} ms, {cpu:>8} of the processor"
            f"  {trouble(self.number)}"
        ).rstrip()


class MonthWorker:
    """Daemon of a month, which is killed, stopped and started again."""

    def __init__(self, page: SharedPage, home: Path, scenario: WireScenario) -> None:
        self._work = partial(_work, page, home, scenario)
        self._run = self._start()
        self.runs = 1

    def end(self, sent: signal.Signals = signal.SIGTERM) -> int:
        return self._run.kill(sent)

    def restart(self) -> None:
        time.sleep(REST)
        self._run = self._start()
        self.runs += 1

    def _start(self) -> WorkerRun:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            return fork(self._work, FOREVER)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    def assert_running(self) -> None:
        assert self._run.is_running(), "the daemon fell"

    @property
    def memory(self) -> float:
        """Resident megabytes."""
        status = Path(f"/proc/{self._run.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1e3

    @property
    def cpu(self) -> float:
        """CPU seconds."""
        fields = Path(f"/proc/{self._run.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


async def _work(page: SharedPage, home: Path, scenario: WireScenario) -> None:
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    async with start_daemon(settings_for(page, scenario, home), FastClock(page), whole()) as awoken:
        gc.freeze()
        living = asyncio.create_task(run_until_failure(awoken.journal.died, awoken.slack.died))
        ending = asyncio.create_task(told.wait())
        await asyncio.wait([living, ending], return_when=asyncio.FIRST_COMPLETED)
        living.cancel()
        await asyncio.gather(living, return_exceptions=True)


class Month:
    """Single run of a month; `violation` and `runs` are set at its end."""

    def __init__(self, seed: int, messages: int, seconds: float) -> None:
        self._scenario = replace(month(seed, messages), settings=SETTINGS)
        self._seconds = seconds
        self.runs = 0
        self.violation: str | None = None

    def days(self) -> Iterator[DayReport]:
        kind = partial(MonthWorld, seconds=self._seconds)
        with open_home("month") as (home, page):
            with run_world(page, self._scenario, ArmedKillPoint(home), kind):
                worker = MonthWorker(page, home, self._scenario)
                yield from self._pass_days(worker, home, page)
                self.violation = self.violation or _find_pending(home)
                status = worker.end()
                self.runs = worker.runs
            scenario = replace(self._scenario, inputs=self._scenario.inputs[: page.phase])
            self.violation = (
                self.violation
                or (f"the last run ended with exit {status}" if status else None)
                or violation_of(partial(check_outcome, home, scenario))
            )

    def _pass_days(self, worker: MonthWorker, home: Path, page: SharedPage) -> Iterator[DayReport]:
        noons = [today[len(today) // 2] for today in days_of(len(self._scenario.inputs))]
        noon, before = 0, 0
        runs, cpu = worker.runs, worker.cpu
        diary = list[dict[str, Any]]()
        phase, stirred = page.phase, time.monotonic()
        while not (diary and diary[-1]["over"]):
            time.sleep(LOOK)
            worker.assert_running()
            if page.phase != phase:
                phase, stirred = page.phase, time.monotonic()
            assert time.monotonic() < stirred + 2 * STUCK, "the world fell, and nobody says anything"
            if noon < len(noons) and page.phase > noons[noon]:
                if trouble(noon) in SENT:
                    worker.end(SENT[trouble(noon)])
                    worker.restart()
                noon += 1
            written = read_lines(home / DIARY)
            for told in written[len(diary) :]:
                whole = worker.runs == runs
                yield DayReport(
                    number=told["day"],
                    said=told["said"],
                    file=(home / "journal.db").stat().st_size,
                    memory=worker.memory,
                    waited=told["waited"],
                    cpu=(worker.cpu - cpu) / (told["said"] - before) if whole else None,
                )
                self.violation = told["problem"]
                before, runs, cpu = told["said"], worker.runs, worker.cpu
            diary = written


def _find_pending(home: Path) -> str:
    until = time.monotonic() + ENDS
    while True:
        with open_reader(home / "journal.db", SOUL_KINDS) as journal:
            left = [entry.key for entry in journal.pending_entries(Input, TurnBegan)]
        if not left or time.monotonic() > until:
            return f"left to do: {left}" if left else ""
        time.sleep(LOOK)


def _describe_growth(days: Sequence[DayReport]) -> str:
    quiet = [day for day in days if day.quiet and day.cpu]
    if len(quiet) < 2 * FEW:
        return "too short to tell what grows"
    told = []
    for name, some in (("first", quiet[:FEW]), ("last", quiet[-FEW:])):
        cpu = median(day.cpu or 0.0 for day in some)
        waited = median(day.waited for day in some)
        told.append(
            f"the {name} {FEW} quiet days: {cpu * 1e3:.1f} ms of the processor a message,"
            f" answered in {waited * 1e3:.0f} ms, {max(day.memory for day in some):.0f} MB"
        )
    return "\n".join(told)


def main(arguments: Sequence[str]) -> int:
    """Print a line a day and the result; return 1 on a violation."""
    parser = argparse.ArgumentParser(description="A month of a busy workspace, in minutes.")
    parser.add_argument("--messages", type=int, default=600, help="in all, a thirtieth of them each day")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no further day after so long")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    measured, days = Month(asked.seed, asked.messages, asked.minutes * 60), list[DayReport]()
    for day in measured.days():
        print(day, flush=True)
        days.append(day)
    print(
        _describe_growth(days),
        f"{measured.runs} worker runs: {measured.violation or 'nothing lost, nothing doubled'}",
        sep="\n",
    )
    return bool(measured.violation)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
