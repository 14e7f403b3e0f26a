"""The texts of the tests: a copy of the defaults, which stays as it is; or what the owner wrote."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.source import ROOT

WORDS = Path(__file__).parent / "words"


OWNED = ("prompts", "playbooks", "actions")


def ours(to: Path) -> Path:
    """The project's own texts and actions, in a folder where a test may write."""
    for part in OWNED:
        shutil.copytree(ROOT / part, to / part)
    shutil.copy(ROOT / "soul.md", to)
    return to


def copied(to: Path) -> Path:
    """These texts in a folder where a test may write; returns it."""
    return Path(shutil.copytree(WORDS, to, dirs_exist_ok=True, copy_function=shutil.copyfile))
