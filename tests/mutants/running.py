"""Trials of mutants: a copy of the project must fail a check."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.mutant import Mutant
from tests.project_copy import copied

SECONDS = 150
"""Seconds for one mutant."""
PATIENCE = 30
"""Seconds of patience in a mutant's test: most events never come."""
CRASH = re.compile(
    r"^(?:E +)?(?:SyntaxError|IndentationError|ImportError|ModuleNotFoundError|NameError|UnboundLocalError|"
    r"AttributeError: (?!'NoneType'))|^_+ ERROR at setup of ",
    re.MULTILINE,
)
"""Output of code that cannot run, or of an unreached check."""


def fate(mutant: Mutant) -> str:
    """Return the fate of a mutant: "survives", "crashed" (no valid code), "hung", or
    empty if it was caught.
    """
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = copied(Path(folder))
        (copy / mutant.file).write_text(mutant.applied())
        return _run(mutant.check, copy)


def judged(status: int, output: str) -> str:
    if CRASH.search(output):
        return "crashed"
    return {0: "survives", 1: ""}.get(status, "crashed")


def _run(check: str, copy: Path) -> str:
    command = ("pytest", "--soak", "-x") if "::" in check else ("tests.core.harness",)
    settings = {"PYTHONDONTWRITEBYTECODE": "1", "VERBOSE": "1", "PATIENCE": str(PATIENCE)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", *command, check],
            cwd=copy,
            capture_output=True,
            timeout=SECONDS,
            env={**os.environ, **settings},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "hung"
    output = (done.stdout + done.stderr).decode(errors="replace")
    if "VERBOSE" in os.environ:
        print("   ", output[-300:].strip())
    return judged(done.returncode, output)
