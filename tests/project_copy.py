"""Copy of the project for changed code."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.source import ROOT


def copied(folder: Path) -> Path:
    half_written = shutil.ignore_patterns("*.pyc.*")
    for part in ("daemon", "rehearsal", "tests", "prompts", "playbooks", "actions"):
        shutil.copytree(ROOT / part, folder / part, ignore=half_written)
    for part in ("soul.md", "config.py", "pyproject.toml"):
        shutil.copy(ROOT / part, folder / part)
    return folder
