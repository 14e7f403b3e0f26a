"""Rules of the engine, each taken out: then a program whose code changed, or that runs again, goes wrong."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

AGAIN = "tests/engine/test_kills.py::test_an_execution_that_runs_again_after_each_step_comes_to_the_same"

ENGINE: tuple[Mutant, ...] = (
    rule(
        "engine: what a step asks is compared when it is read back",
        "engine/record.py",
        "if fingerprint and entry.event.fingerprint != fingerprint:",
        "if False:",
        f"{AGAIN}[yes to X is not yes to Y]",
    ),
    rule(
        "engine: what returns must have read all that is recorded",
        "engine/record.py",
        'left = next((key for key in sorted(self._unread) if key.startswith(f"{path}/")), None)',
        "left = None",
        f"{AGAIN}[early return]",
    ),
    rule(
        "engine: a new step passes by none that is recorded",
        "engine/record.py",
        "            if there in line and not is_part(unread):",
        "            if False:",
        f"{AGAIN}[a step is inserted]",
    ),
    rule(
        "engine: what was finished before a restart is taken over",
        "engine/context.py",
        "old = self.execution.record.take_over(asked, finished)",
        "old = None",
        f"{AGAIN}[what was done is read]",
    ),
    rule(
        "engine: an answer is used once",
        "engine/execution.py",
        "if entry.seq not in self._answered_by and self._answers(entry, waits):",
        "if self._answers(entry, waits):",
        f"{AGAIN}[two alike questions]",
    ),
)
