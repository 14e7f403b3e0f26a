"""Daemons killed by time or by a message: only the deadly messages are given up.

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
from dataclasses import dataclass, replace
from pathlib import Path

from daemon.app.discovery import PROCESSES
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS, IncomingMessage
from daemon.memory import WorkingMemory
from daemon.process import Transition, Turn
from daemon.turn.turn import Process
from tests.engine.dying import short
from tests.lives import ended
from tests.stories.stage import ALICE, BOB, CAROL
from tests.wire.board import Board
from tests.wire.checks import given_up, verdict
from tests.wire.lives import home_for, soul, world
from tests.wire.mark import Mark
from tests.wire.scenario import Line, Scenario
from tests.wire.scenarios import FAILED

POISON = "poison"
"""Word that kills the daemon."""
FUSE = 0.05
"""Real seconds until then."""
THINKS = 1.5
DMS = ((ALICE, "alice"), (BOB, "bob"), (CAROL, "carol"))
MOST_DEATHS = 40
"""Deaths after which nothing is given up any more."""


def deadly(_: Board) -> Mapping[str, Process]:
    """Return processes that a poisonous message kills."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        if any(POISON in entry.event.text for entry in turn.answers):
            await asyncio.sleep(FUSE)
            os.kill(os.getpid(), signal.SIGKILL)
        return await PROCESSES["conversation"](turn)

    return {**PROCESSES, "conversation": conversation}


def talk(innocents: int, poisons: int = 0) -> Scenario:
    texts = [*(f"innocent {n}" for n in range(innocents)), *(f"{POISON} {n}" for n in range(poisons))]
    lines = []
    for number, text in enumerate(texts):
        channel, who = DMS[number % len(DMS)]
        lines.append(Line(text=text, channel=channel, who=who))
    return Scenario(lines=lines, processes=deadly, thinks=THINKS, told=[FAILED])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    kills: int
    deaths: int
    """Deaths by poison."""
    given_up: Sequence[str]
    problem: str | None

    def __str__(self) -> str:
        lost = ", ".join(self.given_up) or "nobody"
        end = self.problem or "everybody else answered"
        return f"{self.kills} kills, {self.deaths} deaths, given up: {lost}; {end}"


def told(scenario: Scenario, kills: Sequence[float] = (), speed: float = 1.0) -> Outcome:
    """Kill lives after these real seconds, then run to the end."""
    with home_for("mortality") as (home, page):
        page.speed = speed
        mark = Mark(home)
        with world(page, scenario, mark):
            ends = {_cut_short(soul(page, scenario, mark), seconds) for seconds in kills}
            deaths, status = 0, -signal.SIGKILL
            while status == -signal.SIGKILL and deaths <= MOST_DEATHS:
                status = ended(soul(page, scenario, mark, 120.0))
                deaths += status == -signal.SIGKILL
        failed = (ends - {0, -signal.SIGKILL}) | ({status} - {0})
        problem = f"lives ended with exit {failed}" if failed else verdict(home, scenario)
        return Outcome(kills=len(kills), deaths=deaths, given_up=lost_in(home), problem=problem)


def _cut_short(pid: int, seconds: float) -> int:
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    return ended(pid)


def lost_in(home: Path) -> list[str]:
    with open_reader(home / "journal.db", SOUL_KINDS) as journal:
        stamps = given_up(journal)
        return sorted(e.event.text for e in journal.entries_of_kind(IncomingMessage) if e.event.ts in stamps)


CASES: Mapping[str, tuple[Scenario, Sequence[float], Sequence[str]]] = {
    "six innocents, 30 kills": (talk(6), short(random.Random(1), 30), []),
    "one innocent, 20 restarts": (talk(1), [0.8] * 20, []),
    "six innocents, 20 restarts": (talk(6), [0.8] * 20, []),
    "a poison among five": (talk(5, 1), [], [f"{POISON} 0"]),
    "two poisons among four": (talk(4, 2), [], [f"{POISON} 0", f"{POISON} 1"]),
    "a poison among five, 10 kills": (talk(5, 1), short(random.Random(2), 10), [f"{POISON} 0"]),
}


def main(chosen: Sequence[str]) -> int:
    """Print a line a scenario; return 1 on problems."""
    wrong = 0
    for name, (scenario, kills, lost) in CASES.items():
        if not chosen or any(word in name for word in chosen):
            outcome = told(replace(scenario), kills)
            print(f"{name:32} {outcome}", flush=True)
            wrong += bool(outcome.problem) or list(outcome.given_up) != lost
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
