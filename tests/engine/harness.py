"""Crash harness of the engine: toy programs whose world is a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import JournalReader, open_reader
from daemon.engine.journal.verify import verify
from daemon.engine.kinds import AnswerAwaited, ExecutionRestarted, WaitBegan
from daemon.engine.worker import Worker
from tests.clock import FakeClock
from tests.crashes.cases import CrashCase, Injection, replay_of
from tests.crashes.harness import CrashHarness
from tests.crashes.kill_points import CrashingWriter
from tests.crashes.trial import CountingTrial
from tests.crashes.worker_runs import count_runs
from tests.engine.agent_programs import AGENT_SCENARIOS
from tests.engine.changed_programs import CHANGED_SCENARIOS
from tests.engine.scenario import EffectFile, EngineScenario, Pressed
from tests.engine.toy_programs import TOY_SCENARIOS
from tests.machine import folder

HOUR = 3600.0
"""Seconds between two phases."""
SCENARIOS = {**TOY_SCENARIOS, **AGENT_SCENARIOS, **CHANGED_SCENARIOS}


class EngineTrial(CountingTrial[EngineScenario]):
    async def work(self, phase: int, *, replays: bool) -> None:
        home, scenario = self.home, self.scenario
        began = 1_790_000_000.0 + phase * HOUR
        world, clock = EffectFile(home), FakeClock(began)
        clock.set_ahead(sum(scenario.ahead[phase : phase + 1]))
        number = phase if scenario.by_phase else count_runs(home) - 1
        program = scenario.programs[min(number, len(scenario.programs) - 1)](world)
        async with Journal(home / "journal.db", clock, scenario.kinds, CrashingWriter) as journal:
            await _append_inputs(journal, scenario, phase)
            async with Worker(journal, clock, program, replays_always=replays) as worker:
                await worker.wait_until_idle()
                while (
                    journal.busy_threads() and clock.steady() < began + HOUR / 2
                ):  # waiting for a retry or an owner
                    await clock.advance(5)
                    await worker.wait_until_idle()

    def check(self) -> None:
        """Check the journal, the pending work and the effects."""
        with open_reader(self.home / "journal.db", self.scenario.kinds) as journal:
            _check_journal(journal, self.scenario)
            self.scenario.check(EffectFile(self.home), journal.entries_since(0, 100_000))


class EngineHarness(CrashHarness[EngineScenario, int]):
    scenarios = SCENARIOS
    spare = 3

    @contextmanager
    def open_trial(self, scenario: EngineScenario, injection: Injection[int]) -> Iterator[EngineTrial]:
        with folder("engine") as home:
            yield EngineTrial(home, scenario)

    def may_miss(self, case: CrashCase[int]) -> bool:
        """True for counted kill points: a run that batches its commits has fewer."""
        return (case.phase, case.at or case.every) in self.kill_points(case.scenario)

    def pauses(self, name: str) -> list[CrashCase[int]]:
        return [case for case in super().pauses(name) if not case.phase]

    def second_kill_points(self, first: CrashCase[int]) -> Sequence[int]:
        return [first.at or 0]

    def cases(self, name: str) -> list[CrashCase[int]]:
        return [*super().cases(name), replay_of(name)]


async def _append_inputs(journal: Journal, scenario: EngineScenario, phase: int) -> None:
    for number, given in enumerate(scenario.inputs):
        if given.phase > phase or journal.get(f"comes:{number}"):
            continue
        event = given.event
        if isinstance(event, Pressed):
            asked = [entry for entry in journal.pending_entries(AnswerAwaited) if given.answers in entry.key]
            if not asked:
                continue
            event = replace(event, answers=asked[-1].key)
        await journal.append(given.thread, event, key=f"comes:{number}", author="world")


def _check_journal(journal: JournalReader, scenario: EngineScenario) -> None:
    broken = verify(journal).violations
    assert not broken, "; ".join(map(str, broken[:3]))
    restarted = journal.entries_of_kind(ExecutionRestarted)
    assert not restarted or len(scenario.programs) > 1, f"restarted: {restarted[0].event.why}"
    every = journal.pending_entries(*journal.kinds)
    left = [entry for entry in every if not isinstance(entry.event, AnswerAwaited | WaitBegan)]
    assert not left, f"left open: {[(entry.kind, entry.key) for entry in left]}"
    waits = journal.pending_entries(AnswerAwaited, WaitBegan)
    assert not waits or scenario.may_wait, f"still waits: {[entry.key for entry in waits]}"


ENGINE = EngineHarness()
