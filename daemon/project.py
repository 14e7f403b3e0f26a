"""The project's own files, the name that stands in one of them, and where the journals live."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import daemon
from daemon.errors import ConfigError
from daemon.mind.wording import SOUL_TEXT, soul_name_in
from daemon.private import restrict_permissions
from daemon.soul.text_file import read_text_file

VERSION = "0.1.0"
"""The version of this code, until a release has another one."""
SHORT = 12
"""Characters of a commit that are shown."""


def project_root() -> Path:
    """The project's folder: where soul.md and prompts/ are."""
    return Path(daemon.__file__).resolve().parent.parent


def version() -> str:
    """Return the version, and in a checkout the commit: `0.1.0 (47eb9e38)`."""
    git = project_root() / ".git"
    try:
        commit = (git / "HEAD").read_text().strip()
        if commit.startswith("ref: "):
            commit = (git / commit.removeprefix("ref: ")).read_text().strip()
    except (OSError, UnicodeDecodeError):  # an image, a work tree beside its repository, packed references
        return VERSION
    return f"{VERSION} ({commit[:SHORT]})"


class CurrentSoulName:
    """The soul's name as soul.md says it at each call; the last good one where that cannot be read."""

    def __init__(self) -> None:
        self._good = soul_name_in("")

    def __call__(self) -> str:
        with suppress(ValueError):
            text = read_text_file(project_root() / f"{SOUL_TEXT}.md")
            if text.strip():
                self._good = soul_name_in(text)
        return self._good


def soul_name() -> str:
    """The same, once; where it cannot be read, the start says why."""
    return CurrentSoulName()()


def create_home(home: Path) -> None:
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
    restrict_permissions(home)
