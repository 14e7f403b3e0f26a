"""A copy of the project, to be changed and run."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.source import ROOT


def copied(folder: Path) -> Path:
    """Copy what the tests need of the project into this folder, with what is compiled of it."""
    half_written = shutil.ignore_patterns("*.pyc.*")
    for part in ("daemon", "rehearsal", "tests", "prompts", "playbooks", "actions"):
        shutil.copytree(ROOT / part, folder / part, ignore=half_written)
    for part in ("soul.md", "config.py", "pyproject.toml"):
        shutil.copy(ROOT / part, folder / part)
    return folder
