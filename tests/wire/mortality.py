"""Workers killed by time or by a message: only the deadly messages are given up.

`python -m tests.wire.mortality [CASE…]`, real time, part of `make soak`.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from daemon.app.discovery import PROCESSES
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS, IncomingMessage
from daemon.memory import WorkingMemory
from daemon.process import Transition, Turn
from daemon.turn.turn import Process
from tests.crashes.cases import Injection
from tests.engine.crash_simulation import draw_short_runs
from tests.stories.stage import ALICE, BOB, CAROL
from tests.wire.checks import given_up
from tests.wire.harness import WireTrial
from tests.wire.kill_points import ArmedKillPoint
from tests.wire.scenario import WireInput, WireScenario
from tests.wire.scenarios import FAILED
from tests.wire.shared_page import SharedPage
from tests.wire.worker_runs import open_home, run_world

POISON = "poison"
"""Word that kills the daemon."""
FUSE = 0.05
"""Real seconds until then."""
THINKS = 1.5
DMS = ((ALICE, "alice"), (BOB, "bob"), (CAROL, "carol"))
MOST_DEATHS = 40
"""Deaths after which nothing is given up any more."""


def deadly(_: SharedPage) -> Mapping[str, Process]:
    """Return processes that a poisonous message kills."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        if any(POISON in entry.event.text for entry in turn.answers):
            await asyncio.sleep(FUSE)
            os.kill(os.getpid(), signal.SIGKILL)
        return await PROCESSES["conversation"](turn)

    return {**PROCESSES, "conversation": conversation}


def talk(innocents: int, poisons: int = 0) -> WireScenario:
    texts = [*(f"innocent {n}" for n in range(innocents)), *(f"{POISON} {n}" for n in range(poisons))]
    lines = []
    for number, text in enumerate(texts):
        channel, who = DMS[number % len(DMS)]
        lines.append(WireInput(text=text, channel=channel, who=who))
    return WireScenario(inputs=lines, processes=deadly, thinks=THINKS, told=[FAILED])


@dataclass(frozen=True, slots=True, kw_only=True)
class MortalityReport:
    kills: int
    deaths: int
    """Deaths by poison."""
    given_up: Sequence[str]
    violation: str | None

    def __str__(self) -> str:
        lost = ", ".join(self.given_up) or "nobody"
        end = self.violation or "everybody else answered"
        return f"{self.kills} kills, {self.deaths} deaths, given up: {lost}; {end}"


class MortalityTrial(WireTrial):
    seconds = 120.0
    most_runs = MOST_DEATHS + 1
    deaths = 0

    def after_kill(self) -> None:
        self.deaths += 1


def run_mortality(scenario: WireScenario, kills: Sequence[float] = (), speed: float = 1.0) -> MortalityReport:
    """Kill runs after these real seconds, then run to the end."""
    with open_home("mortality") as (home, page), ExitStack() as world:
        page.speed = speed
        world.enter_context(run_world(page, scenario, ArmedKillPoint(home)))
        trial = MortalityTrial(home, scenario, page, world.close)
        ends = {_cut_short(trial, seconds) for seconds in kills}
        failed = ends - {0, -signal.SIGKILL}
        violation = trial.run_phase(0) or (f"runs ended with exit {failed}" if failed else trial.violation())
        return MortalityReport(
            kills=len(kills), deaths=trial.deaths, given_up=lost_in(home), violation=violation
        )


def _cut_short(trial: MortalityTrial, seconds: float) -> int:
    worker = trial.start(0, Injection())
    time.sleep(seconds)
    return worker.kill()


def lost_in(home: Path) -> list[str]:
    with open_reader(home / "journal.db", SOUL_KINDS) as journal:
        stamps = given_up(journal)
        return sorted(e.event.text for e in journal.entries_of_kind(IncomingMessage) if e.event.ts in stamps)


CASES: Mapping[str, tuple[WireScenario, Sequence[float], Sequence[str]]] = {
    "six innocents, 30 kills": (talk(6), draw_short_runs(random.Random(1), 30), []),
    "one innocent, 20 restarts": (talk(1), [0.8] * 20, []),
    "six innocents, 20 restarts": (talk(6), [0.8] * 20, []),
    "a poison among five": (talk(5, 1), [], [f"{POISON} 0"]),
    "two poisons among four": (talk(4, 2), [], [f"{POISON} 0", f"{POISON} 1"]),
    "a poison among five, 10 kills": (talk(5, 1), draw_short_runs(random.Random(2), 10), [f"{POISON} 0"]),
}


def main(chosen: Sequence[str]) -> int:
    """Print a line a scenario; return 1 on violations."""
    wrong = 0
    for name, (scenario, kills, lost) in CASES.items():
        if not chosen or any(word in name for word in chosen):
            report = run_mortality(replace(scenario), kills)
            print(f"{name:32} {report}", flush=True)
            wrong += bool(report.violation) or list(report.given_up) != lost
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
