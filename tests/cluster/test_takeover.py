"""Daemons that are killed or paused while they take turns: others go on, and nothing is doubled."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from daemon.engine.clock import SystemClock
from daemon.engine.event import Entry
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.journal.verify import verify
from daemon.engine.kinds import (
    Outcome,
    TurnBegan,
    TurnEnded,
    TurnResumed,
    WorkerDied,
    WorkerStarted,
)
from tests.attention import until
from tests.cluster.toy_daemon import COUNTED_AS_DEAD, DEADLY
from tests.cluster.working_daemons import install_workspace
from tests.crashes.json_lines import read_lines
from tests.engine.function_programs import say
from tests.engine.scenario import Pressed, Said
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.soak import later

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES
ROOT = Path(__file__).parent.parent.parent
WORDS = " ".join(f"w{n}" for n in range(30))
"""Message whose turn takes three seconds."""


@dataclass
class ToyCluster:
    """Processes of toy daemons, and a journal that only watches and feeds."""

    url: str
    home: Path
    journal: SharedJournal
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, machine: str) -> None:
        command = [sys.executable, "-m", "tests.cluster.toy_daemon", self.url, str(self.home), machine]
        self.processes[machine] = subprocess.Popen(command, cwd=ROOT)

    def life_of(self, machine: str) -> int:
        return self.journal.last_seq(f"worker.{machine}", WorkerStarted)

    def running_on(self, machine: str) -> list[str]:
        """Return the threads of which this daemon runs a turn that has not ended."""
        half = self.journal.pending_entries(TurnBegan)
        return [began.thread for began in half if began.event.life == self.life_of(machine)]

    def taken_over(self) -> list[Entry[TurnResumed]]:
        return self.journal.entries_of_kind(TurnResumed)

    def said(self) -> Counter[tuple[str, str]]:
        lines = read_lines(self.home / "world.jsonl")
        return Counter((line["thread"], line["word"]) for line in lines if "word" in line)


@asynccontextmanager
async def toy_cluster(url: str, home: Path, *machines: str) -> AsyncIterator[ToyCluster]:
    install_workspace(url)
    watcher = SharedJournal(
        home / "watcher.db", SystemClock(), [Said, Pressed], url=url, name="watcher", jobs=True
    )
    async with watcher as journal:
        cluster = ToyCluster(url, home, journal)
        with ended_at_last(cluster):
            for machine in machines:
                cluster.start(machine)
            await until(lambda: all(map(cluster.life_of, machines)))
            yield cluster


@contextmanager
def ended_at_last(cluster: ToyCluster) -> Iterator[None]:
    try:
        yield
    finally:
        for process in cluster.processes.values():
            process.kill()
            process.wait()


async def one_in_turns(cluster: ToyCluster) -> subprocess.Popen[bytes]:
    """Feed six threads, and return a daemon in the middle of turns of some of them."""
    for number in range(6):
        await say(cluster.journal, WORDS, f"t{number}")
    await until(lambda: any(map(cluster.running_on, cluster.processes)))
    return cluster.processes[max(cluster.processes, key=lambda machine: len(cluster.running_on(machine)))]


async def test_turns_of_a_killed_daemon_are_taken_over(log_url: str, tmp_path: Path) -> None:
    async with toy_cluster(log_url, tmp_path, "oak", "elm") as cluster:
        (await one_in_turns(cluster)).kill()
        await until(lambda: bool(cluster.taken_over()))
        await until(lambda: len(cluster.journal.entries_of_kind(TurnEnded)) >= 6)
        said, outcomes = cluster.said(), cluster.journal.entries_of_kind(Outcome)
        assert max(said.values()) == 1
        assert 6 * 30 - len(said) <= sum(entry.event.unknown for entry in outcomes)
        assert len(cluster.journal.entries_of_kind(WorkerDied)) == 1
        assert verify(cluster.journal).violations == []


async def test_turns_of_a_paused_daemon_are_taken_over_and_it_ends_when_it_wakes(
    log_url: str, tmp_path: Path
) -> None:
    async with toy_cluster(log_url, tmp_path, "oak", "elm") as cluster:
        hit = await one_in_turns(cluster)
        hit.send_signal(signal.SIGSTOP)
        await until(lambda: bool(cluster.taken_over()))
        hit.send_signal(signal.SIGCONT)
        await until(lambda: hit.poll() is not None)
        assert hit.returncode == COUNTED_AS_DEAD
        await until(lambda: len(cluster.journal.entries_of_kind(TurnEnded)) >= 6)
        assert max(cluster.said().values()) == 1
        assert verify(cluster.journal).violations == []


@pytest.mark.parametrize("machines", [later(("oak", "elm", "ash"))])
async def test_a_deadly_turn_kills_five_daemons_and_others_go_on(
    log_url: str, tmp_path: Path, machines: tuple[str, ...]
) -> None:
    async with toy_cluster(log_url, tmp_path, *machines) as cluster:

        def tend() -> None:
            for machine, process in cluster.processes.items():
                if process.poll() is not None:
                    cluster.start(machine)
                    return

        def has_ended(thread: str) -> bool:
            tend()
            return bool(cluster.journal.thread_entries(thread, TurnEnded))

        await say(cluster.journal, f"hello {DEADLY}", "x")
        for number in range(4):
            await say(cluster.journal, WORDS, f"t{number}")
        await until(lambda: has_ended("x") and all(has_ended(f"t{number}") for number in range(4)))
        deaths = [line for line in read_lines(tmp_path / "world.jsonl") if "dies" in line]
        assert len(deaths) == 5
        [last] = cluster.journal.thread_entries("x", TurnEnded)
        assert last.event.outcome == "failed"
        assert all(cluster.said()[f"t{number}", "w29"] == 1 for number in range(4))
