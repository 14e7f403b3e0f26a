"""`python -m tests.mutants [WORD …]`: try the mutants whose rule holds one of these words, or all of them.

Print those that show nothing; exit with 1 if any.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.mutants.running import fate
from tests.mutants.tables import ALL


def main(words: Sequence[str]) -> int:
    """Try them on all processors."""
    chosen = [one for one in ALL if not words or any(word in one.rule for word in words)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        fates = list(pool.map(fate, chosen))
    faults = [f"{one.rule}: {fault}" for one, fault in zip(chosen, fates, strict=True) if fault]
    print(f"{len(chosen)} mutants  {len(faults)} show nothing", *faults, sep="\n    ")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
