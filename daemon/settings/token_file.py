"""Files that hold a token: nobody else may read them, or have written them."""

from __future__ import annotations

import logging
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from daemon.settings.home import MCP_TOKEN, OTHERS, TOKEN
from daemon.settings.parse import ConfigError

SHORTEST_TOKEN = 20
LONGEST_TOKEN = 4_096

OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags that neither follow links nor block on a pipe."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFile:
    """A file with a token in the home; the `setting` replaces it, and the token `opens` something."""

    name: str
    setting: str
    opens: str

    @property
    def remedy(self) -> str:
        return f"Remove it, and the next start makes a new one; or set {self.setting}."


CONSOLE_TOKEN_FILE = TokenFile(name=TOKEN, setting="CONSOLE_TOKEN", opens="the page")
MCP_TOKEN_FILE = TokenFile(name=MCP_TOKEN, setting="MCP_TOKEN", opens="the soul to MCP clients")


def read_token(home: Path, file: TokenFile = CONSOLE_TOKEN_FILE) -> str:
    """Return the token in the file; empty if missing. Raises ConfigError if the file cannot be trusted."""
    path = home / file.name
    try:
        descriptor = os.open(path, OPEN)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}). {file.remedy}") from error
    try:
        _check(path, os.fstat(descriptor), home, file)
        _close_to_others(path, descriptor, file)
        token = os.read(descriptor, LONGEST_TOKEN).decode(errors="replace").strip()
    finally:
        os.close(descriptor)
    if token and (
        len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token
    ):
        raise ConfigError(
            f"{path} holds no token of {SHORTEST_TOKEN} or more letters and digits. {file.remedy}"
        )
    return token


def _check(path: Path, found: os.stat_result, home: Path, file: TokenFile) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ConfigError(f"{path} is no plain file. {file.remedy}")
    if found.st_uid not in (0, os.geteuid(), home.stat().st_uid):
        raise ConfigError(f"{path} belongs to another user, who may know what it holds. {file.remedy}")


def _close_to_others(path: Path, descriptor: int, file: TokenFile) -> None:
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if not mode & OTHERS:
        return
    os.fchmod(descriptor, mode & ~OTHERS)
    log.warning(
        "Other users could read %s until now; its token opens %s. If one of them may have read it, "
        "remove the file and restart the daemon to make a new token.",
        path,
        file.opens,
    )
