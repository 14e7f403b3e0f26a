"""`make soak`: every boundary of every scenario, killed, paused and met, and every mutant. Takes minutes."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.core.harness import WAYS, problem_of
from tests.core.mutant_types import untyped
from tests.core.mutants import ALL, fate
from tests.core.scenarios import SCENARIOS


def main() -> int:
    """Prints a line a scenario and a line a mutant that shows nothing; 1 if anything went wrong."""
    wrong = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name in SCENARIOS:
            cases = [case for way in WAYS.values() for case in way(name)]
            problems = [problem for problem in pool.map(problem_of, cases) if problem]
            print(f"{name:12} {len(cases):5} cases  {len(problems)} went wrong", *problems[:3], sep="\n    ")
            wrong += len(problems)
        fates = zip(ALL, pool.map(fate, ALL), strict=True)
        faults = [f"{one.rule}: {fault}" for one, fault in fates if fault]
    faults += untyped(ALL)
    print(f"{len(ALL)} mutants  {len(faults)} show nothing", *faults, sep="\n    ")
    return bool(wrong or faults)


if __name__ == "__main__":
    sys.exit(main())
