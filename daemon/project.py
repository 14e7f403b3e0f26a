"""The project's own files, the name that stands in one of them, and where the journals live."""

from __future__ import annotations

import os
from pathlib import Path

from daemon.errors import ConfigError
from daemon.mind.wording import SOUL, name_of
from daemon.private import tighten

VERSION = "0.1.0"
"""The version of this code, until a release has another one."""
SHORT = 12
"""Characters of a commit that are shown."""


def root() -> Path:
    """The project's folder: where soul.md and prompts/ are."""
    return Path(__file__).resolve().parent.parent


def version() -> str:
    """Return the version, and in a checkout the commit: `0.1.0 (47eb9e38)`."""
    git = root() / ".git"
    try:
        commit = (git / "HEAD").read_text().strip()
        if commit.startswith("ref: "):
            commit = (git / commit.removeprefix("ref: ")).read_text().strip()
    except (OSError, UnicodeDecodeError):  # an image, a work tree beside its repository, packed references
        return VERSION
    return f"{VERSION} ({commit[:SHORT]})"


def name() -> str:
    """The soul's, as soul.md says it; where that cannot be read, the start says why."""
    try:
        return name_of((root() / f"{SOUL}.md").read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return name_of("")


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
