"""The texts of the tests: a copy of the defaults, which stays as it is whatever the owner writes."""

from __future__ import annotations

import shutil
from pathlib import Path

WORDS = Path(__file__).parent / "words"


def copied(to: Path) -> Path:
    """These texts in a folder where a test may write; returns it."""
    return Path(shutil.copytree(WORDS, to, dirs_exist_ok=True))
