"""Mutants tried: the project is copied without one rule, and a check of the copy has to fail."""

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
"""For the check of one mutant."""
PATIENCE = 30
"""Seconds that a test of a mutant waits for something: most of what a mutant fails to do never comes."""
CRASH = re.compile(
    r"^(?:E +)?(?:SyntaxError|IndentationError|ImportError|ModuleNotFoundError|NameError|UnboundLocalError|"
    r"AttributeError: (?!'NoneType'))|^_+ ERROR at setup of ",
    re.MULTILINE,
)
"""Output of code that cannot run, or of a test whose check was not reached."""


def fate(mutant: Mutant) -> str:
    """Return why the mutant shows nothing; empty if its check caught it.

    "survives": the check passed. "crashed": a name that is gone, or no Python. "hung": no end in time.
    """
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = copied(Path(folder))
        (copy / mutant.file).write_text(mutant.applied())
        return _run(mutant.check, copy)


def judged(status: int, output: str) -> str:
    """Return the fate of a mutant whose check ended with this exit status and output."""
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
