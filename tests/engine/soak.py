"""`python -m tests.engine.soak`: each boundary of each scenario, killed, paused and met. Takes minutes."""

from __future__ import annotations

import asyncio
import os
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.engine.changed import CHANGED
from tests.engine.harness import STUTTERS, failures, pauses, replayed
from tests.engine.minds import MINDS
from tests.engine.toys import SCENARIOS

ALL = {**SCENARIOS, **MINDS, **CHANGED}


def problems(name: str) -> dict[str, str]:
    """What goes wrong with this scenario, in whichever way."""
    found = failures(ALL[name], stutters=STUTTERS)
    if name not in CHANGED:  # there the code changes with the lives, and these are two at once
        found |= pauses(ALL[name])
    again = asyncio.run(replayed(ALL[name]))
    return {**found, "run again after each step": again} if again else found


def main() -> int:
    """Prints a line a scenario; 1 if anything went wrong."""
    wrong = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name, found in zip(ALL, pool.map(problems, ALL), strict=True):
            print(f"{name:28} {len(found)} went wrong", *list(found.items())[:3], sep="\n    ", flush=True)
            wrong += len(found)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
