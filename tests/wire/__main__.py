"""`python -m tests.wire [STORY…]`: each boundary of these stories (of all) in every way.

Part of `make soak`; takes minutes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.wire.harness import boundaries, every, problem_of
from tests.wire.stories import STORIES


def main(chosen: Sequence[str]) -> int:
    """Prints a line a story; 1 if anything went wrong."""
    wrong = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name in chosen or STORIES:
            jobs = every(name)
            found = [
                f"{job}: {problem}"
                for job, problem in zip(jobs, pool.map(problem_of, jobs), strict=True)
                if problem
            ]
            counted = f"{len(boundaries(name)):4} boundaries {len(jobs):5} cases"
            print(f"{name:12} {counted}  {len(found)} went wrong", *found, sep="\n    ", flush=True)
            wrong += len(found)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
