"""The engine's crash harness: each life runs a scenario over a journal."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import open_reader
from daemon.engine.journal.verify import verify
from daemon.engine.kinds import AnswerAwaited, ExecutionRestarted, WaitBegan
from daemon.engine.worker import Worker
from tests.cases import Case, Harness, replay
from tests.clock import FakeClock
from tests.engine.changed import CHANGED
from tests.engine.minds import MINDS
from tests.engine.scenario import Pressed, Scenario, World
from tests.engine.toys import TOYS
from tests.lives import MortalWriter, lives_in
from tests.machine import folder

HOUR = 3600.0
"""Seconds between two phases."""
SPARE = 3
"""Boundaries that a life may lack when commits are batched."""
SCENARIOS = {**TOYS, **MINDS, **CHANGED}


class Engine(Harness[Scenario]):
    """Workers whose world is a file."""

    scenarios = SCENARIOS

    def home_for(self, name: str) -> AbstractContextManager[Path]:
        return folder("engine")

    async def live(self, home: Path, scenario: Scenario, phase: int, *, replays: bool) -> None:
        began = 1_790_000_000.0 + phase * HOUR
        world, clock = World(home), FakeClock(began)
        clock.set_ahead(sum(scenario.ahead[phase : phase + 1]))
        number = phase if scenario.by_phase else lives_in(home) - 1
        program = scenario.programs[min(number, len(scenario.programs) - 1)](world)
        async with Journal(home / "journal.db", clock, scenario.kinds, MortalWriter) as journal:
            await _bring(journal, scenario, phase)
            async with Worker(journal, clock, program, replays_always=replays) as worker:
                await worker.wait_until_idle()
                while (
                    journal.busy_threads() and clock.steady() < began + HOUR / 2
                ):  # waiting for a retry or an owner
                    await clock.advance(5)
                    await worker.wait_until_idle()

    def after_kill(self, home: Path, scenario: Scenario) -> None: ...

    def after_meeting(self, home: Path) -> str | None:
        return None

    def verdict(self, home: Path, scenario: Scenario) -> str | None:
        """Return a fault of the journal, the pending work or the effects, else None."""
        with open_reader(home / "journal.db", scenario.kinds) as journal:
            broken = verify(journal).violations
            if broken:
                return "; ".join(map(str, broken[:3]))
            restarted = journal.entries_of_kind(ExecutionRestarted)
            if restarted and len(scenario.programs) == 1:
                return f"restarted: {restarted[0].event.why}"
            every = journal.pending_entries(*journal.kinds)
            left = [entry for entry in every if not isinstance(entry.event, AnswerAwaited | WaitBegan)]
            if left:
                return f"left open: {[(entry.kind, entry.key) for entry in left]}"
            waits = journal.pending_entries(AnswerAwaited, WaitBegan)
            if waits and not scenario.may_wait:
                return f"still waits: {[entry.key for entry in waits]}"
            return scenario.check(World(home), journal.entries_since(0, 100_000))

    def kills(self, name: str) -> list[Case[int]]:
        """Return the kills without stutters beyond any life."""
        longest = max(at for _, at in self.boundaries(name)) - SPARE
        return [case for case in super().kills(name) if case.way == "kill" or case.at <= longest]

    def pauses(self, name: str) -> list[Case[int]]:
        return [case for case in super().pauses(name) if not case.phase]

    def meetings(self, name: str) -> list[Case[int]]:
        return [replace(case, way="meeting", other=case.at) for case in self.pauses(name)]

    def cases(self, name: str) -> list[Case[int]]:
        return [*super().cases(name), replay(name)]


async def _bring(journal: Journal, scenario: Scenario, phase: int) -> None:
    for number, comes in enumerate(scenario.comes):
        if comes.phase > phase or journal.get(f"comes:{number}"):
            continue
        event = comes.event
        if isinstance(event, Pressed):
            asked = [entry for entry in journal.pending_entries(AnswerAwaited) if comes.answers in entry.key]
            if not asked:
                continue
            event = replace(event, answers=asked[-1].key)
        await journal.append(comes.thread, event, key=f"comes:{number}", author="world")


ENGINE = Engine()
