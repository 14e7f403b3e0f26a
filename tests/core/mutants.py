"""The rules of the core, each taken out: what then goes wrong is what the rule is for.

A mutant is a copy of the project with one rule missing; it stops at the first case that fails. One that
survives is a rule that nobody needs, or that nobody tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.core.defences import DEFENCES
from tests.core.edges import EDGES
from tests.core.gate_rules import GATE
from tests.core.mutant import Mutant
from tests.core.promises import PROMISES
from tests.core.promises_ism import ISM
from tests.core.rules import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 100
ALL: tuple[Mutant, ...] = (*MUTANTS, *EDGES, *DEFENCES, *PROMISES, *ISM, *GATE)


def survives(mutant: Mutant) -> bool:
    """Whether nothing fails without this rule, or what should fail is not there."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder)
        for part in ("daemon", "tests", "prompts", "playbooks"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for part in ("soul.md", "config.py", "pyproject.toml"):
            shutil.copy(ROOT / part, copy / part)
        path = copy / mutant.file
        text = path.read_text()
        assert text.count(mutant.old) == 1, (
            f"{mutant.rule}: {mutant.file} holds its text {text.count(mutant.old)} times"
        )
        path.write_text(text.replace(mutant.old, mutant.new))
        return _run(mutant.shown_by, copy)


def _run(shown_by: str, copy: Path) -> bool:
    command = ["-m", "pytest", shown_by] if "::" in shown_by else ["-m", "tests.core.harness", shown_by]
    try:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=copy,
            capture_output=True,
            timeout=SECONDS,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    if "VERBOSE" in os.environ:
        print("   ", done.stdout.decode()[-300:].strip())
    return done.returncode != 1


if __name__ == "__main__":
    alive = []
    for mutant in ALL:
        if not sys.argv[1:] or any(word in mutant.rule for word in sys.argv[1:]):
            print(mutant.rule, flush=True)
            if survives(mutant):
                alive.append(mutant.rule)
                print("    SURVIVES", flush=True)
    sys.exit(bool(alive))
