"""`make soak`: every boundary of every scenario, killed, paused and met, and every mutant. Takes minutes."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.core.harness import WAYS, problem_of
from tests.core.mutants import ALL, survives
from tests.core.scenarios import SCENARIOS


def main() -> int:
    """Prints a line a scenario and a line a surviving mutant; 1 if anything went wrong."""
    wrong = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name in SCENARIOS:
            cases = [case for way in WAYS.values() for case in way(name)]
            problems = [problem for problem in pool.map(problem_of, cases) if problem]
            print(f"{name:12} {len(cases):5} cases  {len(problems)} went wrong", *problems[:3], sep="\n    ")
            wrong += len(problems)
        alive = [one.rule for one, lives in zip(ALL, pool.map(survives, ALL), strict=True) if lives]
    print(f"{len(ALL)} mutants  {len(alive)} survive", *alive, sep="\n    ")
    return bool(wrong or alive)


if __name__ == "__main__":
    sys.exit(main())
