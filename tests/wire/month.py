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
from tests.lives import ended, fork, read
from tests.texts import whole
from tests.wire.board import Board, SwiftClock
from tests.wire.checks import verdict
from tests.wire.lives import FOREVER, home_for, settings_for, world
from tests.wire.mark import Mark
from tests.wire.month_world import DIARY, KILLED, QUIET, STOPPED, STUCK, MonthWorld, days_of, month, trouble
from tests.wire.scenario import Scenario

SETTINGS = {"budget_daily_usd": 1e6, "limit_thread": Limits(), "limit_person": Limits()}
LOOK = 0.1
REST = 0.5
"""Real seconds between lives."""
FEW = 3
SENT = {KILLED: signal.SIGKILL, STOPPED: signal.SIGTERM}
ENDS = 120.0
"""Real seconds for pending work at the end."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
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


class Life:
    def __init__(self, page: Board, home: Path, scenario: Scenario) -> None:
        self._live = partial(_live, page, home, scenario)
        self._pid = self._begun()
        self.count = 1

    def end(self, sent: signal.Signals = signal.SIGTERM) -> int:
        os.kill(self._pid, sent)
        return ended(self._pid)

    def begin_again(self) -> None:
        time.sleep(REST)
        self._pid = self._begun()
        self.count += 1

    def _begun(self) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            return fork(self._live, FOREVER)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    def look(self) -> None:
        assert os.waitpid(self._pid, os.WNOHANG) == (0, 0), "the daemon fell"

    @property
    def memory(self) -> float:
        """Resident megabytes."""
        status = Path(f"/proc/{self._pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1e3

    @property
    def cpu(self) -> float:
        """CPU seconds."""
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


async def _live(page: Board, home: Path, scenario: Scenario) -> None:
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    async with start_daemon(settings_for(page, scenario, home), SwiftClock(page), whole()) as awoken:
        gc.freeze()
        living = asyncio.create_task(run_until_failure(awoken.journal.died, awoken.slack.died))
        ending = asyncio.create_task(told.wait())
        await asyncio.wait([living, ending], return_when=asyncio.FIRST_COMPLETED)
        living.cancel()
        await asyncio.gather(living, return_exceptions=True)


class Month:
    """Single run of a month; `problem` and `lives` are set at its end."""

    def __init__(self, seed: int, messages: int, seconds: float) -> None:
        self._scenario = replace(month(seed, messages), settings=SETTINGS)
        self._seconds = seconds
        self.lives = 0
        self.problem = ""

    def days(self) -> Iterator[Day]:
        kind = partial(MonthWorld, seconds=self._seconds)
        with home_for("month") as (home, page):
            with world(page, self._scenario, Mark(home), kind):
                life = Life(page, home, self._scenario)
                yield from self._lived(life, home, page)
                self.problem = self.problem or _rested(home)
                status = life.end()
                self.lives = life.count
            scenario = replace(self._scenario, lines=self._scenario.lines[: page.phase])
            self.problem = self.problem or (f"exit {status}" if status else verdict(home, scenario) or "")

    def _lived(self, life: Life, home: Path, page: Board) -> Iterator[Day]:
        noons = [today[len(today) // 2] for today in days_of(len(self._scenario.lines))]
        noon, before = 0, 0
        lives, cpu = life.count, life.cpu
        diary = list[dict[str, Any]]()
        phase, stirred = page.phase, time.monotonic()
        while not (diary and diary[-1]["over"]):
            time.sleep(LOOK)
            life.look()
            if page.phase != phase:
                phase, stirred = page.phase, time.monotonic()
            assert time.monotonic() < stirred + 2 * STUCK, "the world fell, and nobody says anything"
            if noon < len(noons) and page.phase > noons[noon]:
                if trouble(noon) in SENT:
                    life.end(SENT[trouble(noon)])
                    life.begin_again()
                noon += 1
            written = read(home / DIARY)
            for told in written[len(diary) :]:
                whole = life.count == lives
                yield Day(
                    number=told["day"],
                    said=told["said"],
                    file=(home / "journal.db").stat().st_size,
                    memory=life.memory,
                    waited=told["waited"],
                    cpu=(life.cpu - cpu) / (told["said"] - before) if whole else None,
                )
                self.problem = told["problem"]
                before, lives, cpu = told["said"], life.count, life.cpu
            diary = written


def _rested(home: Path) -> str:
    until = time.monotonic() + ENDS
    while True:
        with open_reader(home / "journal.db", SOUL_KINDS) as journal:
            left = [entry.key for entry in journal.pending_entries(Input, TurnBegan)]
        if not left or time.monotonic() > until:
            return f"left to do: {left}" if left else ""
        time.sleep(LOOK)


def _grown(days: Sequence[Day]) -> str:
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
    """Print a line a day and the result; return 1 on problems."""
    parser = argparse.ArgumentParser(description="A month of a busy workspace, in minutes.")
    parser.add_argument("--messages", type=int, default=600, help="in all, a thirtieth of them each day")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no further day after so long")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    lived, days = Month(asked.seed, asked.messages, asked.minutes * 60), list[Day]()
    for day in lived.days():
        print(day, flush=True)
        days.append(day)
    print(_grown(days), f"{lived.lives} lives: {lived.problem or 'nothing lost, nothing doubled'}", sep="\n")
    return bool(lived.problem)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
