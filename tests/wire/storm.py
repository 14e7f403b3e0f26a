"""Random scenario: 500 events in 20 threads under kills, dropped sockets and faults.

`python -m tests.wire.storm --seconds N --seed S` repeats new ones for N seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from daemon.settings.limits import Limits
from rehearsal.claude.prompt import Body
from rehearsal.people import PEOPLE
from tests.crashes.cases import Injection
from tests.crashes.worker_runs import count_runs
from tests.stories.choosing import looking
from tests.stories.stage import ALICE, BOB, CAROL, GENERAL, ME, RANDOM
from tests.wire.checks import NO_MORE, given_up_in
from tests.wire.harness import WireTrial
from tests.wire.ism_scenarios import (
    ASIDE,
    FOUND,
    LIMIT,
    NEW,
    ON_IT,
    SO_FAR,
    STOPPED,
    planning,
    remembering,
    said,
)
from tests.wire.kill_points import ArmedKillPoint, KillPointName, RandomKills
from tests.wire.scenario import WireInput, WireScenario
from tests.wire.scenarios import AT_REST, FAILED, LOST_WORDS, SLOW, UNREACHABLE
from tests.wire.worker_runs import open_home, run_world
from tests.wire.world import WireWorld

EVENTS, THREADS = 500, 20
GAP = 0.8
"""Mean scenario seconds between events."""
KILLS_AT_COMMITS, KILLS_AT_EFFECTS = 1 / 800, 1 / 800
LATER = 8
"""Phases until the last wait is due."""
AT_ONCE = 3
"""Concurrent Slack faults."""
SECONDS = 240.0
"""Longest storm."""
SPELL = 6.0
"""Mean scenario seconds between changes of faults."""
DMS = {ALICE: "alice", BOB: "bob", CAROL: "carol"}
WORKS, STOPS, PRESSES = 0.1, 0.05, 0.05
"""Probabilities that a line asks for a run or stops one, and of a press after it."""
SETTINGS = {
    "ism_enabled": True,
    "owner_user_ids": frozenset(person.id for person in PEOPLE),
    "limit_turn": Limits(calls=4),
}
PLANS: Sequence[Sequence[object]] = (
    ["Respond"],
    ["Think", "Respond"],
    [("Think", looking()), "Think", "Respond"],
    [remembering("It was late."), ("Think", looking("late")), "Think", "Think", "Respond"],
    ["Think", "To_closing"],
)
TOLD = [
    UNREACHABLE,
    FAILED,
    LOST_WORDS,
    SLOW,
    ON_IT,
    FOUND,
    SO_FAR,
    ASIDE,
    STOPPED,
    AT_REST,
    LIMIT,
    NO_MORE,
    "You said: stop",
]
PLACES = [*DMS, GENERAL, RANDOM]
SLACK: Sequence[tuple[str, dict[str, Any]]] = (
    ("redelivery", {"chance": 0.3}),
    ("duplicate", {"chance": 0.3}),
    ("reorder", {"chance": 0.3}),
    ("delay", {"chance": 0.2}),
    ("drop", {}),
    ("refresh", {}),
    ("used-tickets", {"chance": 0.5}),
    ("rate-limit", {"chance": 0.05}),
    ("answer-lost", {"chance": 0.05}),
    ("stream-expiry", {}),
    ("down", {}),
)
MODEL: Sequence[tuple[str, dict[str, Any]]] = (
    ("throttled", {"chance": 0.3}),
    ("overloaded", {"chance": 0.9}),
    ("cut", {"chance": 0.7, "characters": 70.0}),
)


def make_scenario(seed: int, events: int = EVENTS) -> WireScenario:
    """Return random lines with unique words."""
    draw = random.Random(seed)
    lines: list[WireInput] = []
    for number in range(events):
        root = draw.randrange(THREADS) if number >= THREADS else None
        channel = draw.choice(PLACES) if root is None else lines[root].channel
        who = DMS.get(channel) or draw.choice([*DMS.values()])
        stops = channel in DMS and root is not None and draw.random() < STOPS
        text = "stop" if stops else _text(number, draw.random(), draw.random())
        text = text if channel in DMS else f"{ME} {text}"
        lines.append(WireInput(text=text, who=who, channel=channel, root=root, stops=stops))
    return WireScenario(
        inputs=lines,
        script=planning(plan),
        settings=SETTINGS,
        told=TOLD,
        last_phase=LATER,
        storm=f"storm {seed}",
    )


def _text(number: int, work: float, new: float) -> str:
    asked = f"please work out e{number:04}." if work < WORKS else f"e{number:04}."
    return f"{asked} {NEW}" if new < 0.5 else asked


def plan(body: Body) -> Sequence[object]:
    begun = [words for words in said(body) if "work out" in words]
    return PLANS[sum(map(ord, begun[-1])) % len(PLANS)] if begun else PLANS[0]


class StormWorld(WireWorld):
    """World with random faults in phase one."""

    async def play(self) -> None:
        """Post lines under changing faults, then end the faults."""
        draw = random.Random(self.scenario.storm)
        weather = asyncio.create_task(self._change(draw))
        for number in range(len(self.scenario.inputs)):
            await self.clock.sleep(draw.expovariate(1 / GAP))
            self.people.say(number)
            if draw.random() < PRESSES and (offers := self.people.offers()):
                self._press(*draw.choice(offers), draw)
        weather.cancel()
        await asyncio.gather(weather, return_exceptions=True)
        self.world.faults.all_off()
        self.model.faults.all_off()

    def left(self) -> list[WireInput]:
        return self.people.left(lambda line: True)

    def hurry(self) -> None:
        """Do nothing: people take their time."""

    async def further(self, request: web.Request) -> web.Response:
        """Press all Continue buttons, too."""
        answer = await super().further(request)
        for channel, ts, label in self.people.offers():
            if label == "Continue":
                self._press(channel, ts, label, random.Random(ts))
        return answer

    def _press(self, channel: str, ts: str, label: str, draw: random.Random) -> None:
        with self.world.workspace.db:
            self.people.press(channel, ts, label, DMS.get(channel) or draw.choice([*DMS.values()]))

    async def _change(self, draw: random.Random) -> None:
        while True:
            await self.clock.sleep(draw.expovariate(1 / SPELL))
            for board, table, count in ((self.world.faults, SLACK, AT_ONCE), (self.model.faults, MODEL, 1)):
                board.all_off()
                for name, told in draw.sample(table, count):
                    seed = {"seed": draw.randrange(10**6)} if "chance" in told else {}
                    board.switch(name, True, **told, **seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class StormReport:
    seed: int
    events: int
    kills: int
    given_up: int
    violation: str | None

    def __str__(self) -> str:
        return (
            f"storm {self.seed}: {self.events} events in {THREADS} threads, {self.kills} kills, "
            f"{self.given_up} messages given up: "
            f"{self.violation or 'nothing lost, nothing doubled'}"
        )


class StormTrial(WireTrial):
    """Trial with random kills, of which each run has its own."""

    seconds = SECONDS
    most_runs = EVENTS
    seed = 0

    def armed(self, injection: Injection[KillPointName]) -> ArmedKillPoint:
        kills = count_runs(self.home) - 1
        return RandomKills(self.home, self.page, f"commits {self.seed} {kills}", KILLS_AT_COMMITS)


def run_storm(seed: int, events: int = EVENTS) -> StormReport:
    scenario = make_scenario(seed, events)
    with open_home("storm") as (home, page), ExitStack() as world:
        effects = RandomKills(home, page, f"effects {seed}", KILLS_AT_EFFECTS)
        world.enter_context(run_world(page, scenario, effects, StormWorld))
        trial = StormTrial(home, scenario, page, world.close)
        trial.seed = seed
        violation = trial.run_phase(0) or trial.violation()
        kills, lost = count_runs(home) - 1, given_up_in(home)
        return StormReport(seed=seed, events=events, kills=kills, given_up=lost, violation=violation)


def main(arguments: Sequence[str]) -> int:
    """Print a line a storm; return 1 at the first violation."""
    parser = argparse.ArgumentParser(description="Storms, one after another, each with its own seed.")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin no further one after so long")
    parser.add_argument("--seed", type=int, default=1, help="of the first one; the next ones count on")
    asked = parser.parse_args(arguments)
    until, seed = time.monotonic() + asked.seconds, asked.seed
    while time.monotonic() < until:
        report = run_storm(seed)
        print(report, flush=True)
        if report.violation:
            return 1
        seed += 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
