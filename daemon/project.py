"""Folders: where the project's own files are, and where the journals live. For app.py."""

from __future__ import annotations

import os
from pathlib import Path

from daemon.errors import ConfigError
from daemon.private import tighten


def root() -> Path:
    """The project's folder: where soul.md and prompts/ are."""
    return Path(__file__).resolve().parent.parent


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
