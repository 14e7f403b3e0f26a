"""Mutants that no Python could run: what mypy says of each patched file. Run by soak.py.

Those of different files share a copy of the project, so that a few runs do for all.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.core.mutant import Mutant
from tests.core.mutants import ROOT, copied


def untyped(mutants: Iterable[Mutant]) -> list[str]:
    """A line for each error that a mutant has, and the project as it is has not."""
    with tempfile.TemporaryDirectory(prefix="types-") as folder:
        copy = copied(Path(folder))
        known = {without_line(error) for error in errors(copy)}
        found = []
        for batch in batches(mutants):
            for one in batch:
                (copy / one.file).write_text(one.taken_from((ROOT / one.file).read_text()))
            said = errors(copy)
            for one in batch:
                new = [e for e in said if e.startswith(f"{one.file}:") and without_line(e) not in known]
                found += [f"{one.rule}: {error}" for error in new]
                (copy / one.file).write_text((ROOT / one.file).read_text())
        return found


def batches(mutants: Iterable[Mutant]) -> Iterator[Sequence[Mutant]]:
    """All of them, in groups of one mutant a file."""
    by_file = defaultdict(list)
    for one in mutants:
        by_file[one.file].append(one)
    while by_file:
        yield [left.pop() for left in by_file.values()]
        by_file = defaultdict(list, {file: left for file, left in by_file.items() if left})


def errors(copy: Path) -> list[str]:
    """What mypy says of this copy, a line each."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "config.py", "daemon", "rehearsal"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if ": error: " in line]


def without_line(error: str) -> str:
    """An error as it reads wherever in its file it stands."""
    file, _, rest = error.split(":", 2)
    return f"{file}:{rest}"


if __name__ == "__main__":
    from tests.core.mutants import ALL

    faults = untyped(ALL)
    print(*faults, sep="\n")
    sys.exit(bool(faults))
