"""Files: where the project's own are, whether the code that thinks has changed, where to live. For app.py."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from daemon.errors import ConfigError
from daemon.private import tighten

THINKING = ("memory.py", "claude", "mind", "life", "processes", "actions", "knowledge", "ism.py")
"""The code that a replay must find unchanged: what decides what is asked, and in which order."""


def root() -> Path:
    """The project's folder: where soul.md and prompts/ are."""
    return Path(__file__).resolve().parent.parent


def code() -> str:
    """A hash of the code that thinks."""
    here = Path(__file__).parent
    files = [file for part in THINKING for file in sorted((here / part).rglob("*.py")) or [here / part]]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def settle(home: Path) -> None:
    """Make the folder that the journals live in, for its owner alone; raises ConfigError where that fails."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"SOUL_HOME names a folder that cannot be made ({error.strerror}). Name one that can."
        ) from error
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        raise ConfigError(
            f"SOUL_HOME is {home}, which cannot be written. Make it this user's, or name a folder that is."
        )
    tighten(home)
