"""`make soak`: every case of every scenario, and every mutant. Takes minutes."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.cases import soak
from tests.core.harness import SOUL
from tests.core.mutant_types import untyped
from tests.core.mutants import ALL, fate
from tests.core.scenarios import SCENARIOS


def main() -> int:
    """Prints a line a scenario and a line a mutant that shows nothing; 1 if anything went wrong."""
    wrong = soak(SCENARIOS, SOUL.cases, SOUL.outcome)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        fates = zip(ALL, pool.map(fate, ALL), strict=True)
        faults = [f"{one.rule}: {fault}" for one, fault in fates if fault]
    faults += untyped(ALL)
    print(f"{len(ALL)} mutants  {len(faults)} show nothing", *faults, sep="\n    ")
    return bool(wrong or faults)


if __name__ == "__main__":
    sys.exit(main())
