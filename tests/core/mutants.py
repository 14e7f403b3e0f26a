"""The rules of the core, each taken out: what then goes wrong is what the rule is for.

A mutant is a copy of the project with one rule missing; it stops at the first case that fails. One that
survives is a rule that nobody needs, or that nobody tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.core.again_rules import AGAIN_AND_BRANCHES
from tests.core.card_rules import CARD
from tests.core.defences import DEFENCES
from tests.core.digest_rules import DIGESTED
from tests.core.dm_rules import DMS
from tests.core.edges import EDGES
from tests.core.engine_rules import ENGINE
from tests.core.gate_rules import GATE
from tests.core.inner_rules import INNER
from tests.core.mutant import Mutant
from tests.core.open_rules import OPEN
from tests.core.promises import PROMISES
from tests.core.promises_ism import ISM
from tests.core.promises_journal import JOURNAL
from tests.core.promises_wire import WIRE
from tests.core.reading_rules import READ
from tests.core.rules import MUTANTS
from tests.core.stream_rules import STREAM
from tests.core.unawaited_rules import UNAWAITED

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 150
"""For one mutant."""
PATIENCE = 30
"""How long a test of a mutant waits for something: most of what a mutant fails to do never comes."""
CRASH = re.compile(
    r"^(?:E +)?(?:SyntaxError|IndentationError|ImportError|ModuleNotFoundError|NameError|UnboundLocalError|"
    r"AttributeError: (?!'NoneType'))|^_+ ERROR at setup of ",
    re.MULTILINE,
)
"""What is said of code that cannot run, or where no check was come to, and not of a rule that is missing."""
ALL: tuple[Mutant, ...] = (
    *MUTANTS,
    *EDGES,
    *DEFENCES,
    *PROMISES,
    *ISM,
    *WIRE,
    *JOURNAL,
    *GATE,
    *ENGINE,
    *AGAIN_AND_BRANCHES,
    *OPEN,
    *CARD,
    *READ,
    *INNER,
    *DMS,
    *UNAWAITED,
    *DIGESTED,
    *STREAM,
)


def fate(mutant: Mutant) -> str:
    """What becomes of the project without this rule: nothing where a check fails, else the fault.

    A mutant that dies of anything but a failed check shows nothing: it "crashed" (a name that is gone, a
    patch that is no Python) or "hung". One that no check notices "survives".
    """
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = copied(Path(folder))
        path = copy / mutant.file
        path.write_text(mutant.taken_from(path.read_text()))
        return _run(mutant.shown_by, copy)


def copied(folder: Path) -> Path:
    """A copy of the project in this folder, as far as its tests need it, with what is compiled of it."""
    half_written = shutil.ignore_patterns("*.pyc.*")
    for part in ("daemon", "rehearsal", "tests", "prompts", "playbooks", "actions"):
        shutil.copytree(ROOT / part, folder / part, ignore=half_written)
    for part in ("soul.md", "config.py", "pyproject.toml"):
        shutil.copy(ROOT / part, folder / part)
    return folder


def _run(shown_by: str, copy: Path) -> str:
    checks = ("pytest", "--soak", "-x") if "::" in shown_by else ("tests.core.harness",)
    settings = {"PYTHONDONTWRITEBYTECODE": "1", "VERBOSE": "1", "PATIENCE": str(PATIENCE)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", *checks, shown_by],
            cwd=copy,
            capture_output=True,
            timeout=SECONDS,
            env={**os.environ, **settings},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "hung"
    said = (done.stdout + done.stderr).decode(errors="replace")
    if "VERBOSE" in os.environ:
        print("   ", said[-300:].strip())
    return judged(done.returncode, said)


def judged(status: int, said: str) -> str:
    """What the exit status of a check, and what it said, make of a mutant; nothing where it was caught."""
    if CRASH.search(said):
        return "crashed"
    return {0: "survives", 1: ""}.get(status, "crashed")


def main(words: Sequence[str]) -> int:
    """Try the mutants whose rules hold one of these words, or all; 1 if one was not caught by its check."""
    wrong = 0
    for mutant in ALL:
        if not words or any(word in mutant.rule for word in words):
            print(mutant.rule, flush=True)
            if fault := fate(mutant):
                wrong += 1
                print(f"    {fault.upper()}", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
