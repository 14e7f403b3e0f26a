"""The lasting token of the page in `SOUL_HOME/console-token`: made once, for the daemon's user alone.

A file that somebody else could have put there is refused; one that others could read is closed to them.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from daemon.engine.exceptions import JournalError
from daemon.errors import ConfigError
from daemon.private import OTHERS, TOKEN, write_private

SHORTEST_TOKEN = 20
"""Characters of a token that nobody guesses."""
LONGEST_TOKEN = 4_096
"""Bytes that are read of the file."""
OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Neither follow a link, nor wait for someone who writes into a pipe."""
FIX = "Remove it, and the next start makes a new one; or set CONSOLE_TOKEN."

log = logging.getLogger(__name__)


def read_or_make_token(home: Path) -> str:
    """Return the lasting token, a new one where there is none yet.

    Raises ConfigError where the file cannot be trusted, JournalError where none can be made.
    """
    try:
        with _locked(home):
            token = read_token(home)
            if not token:
                token = secrets.token_urlsafe(32)
                write_private(home / TOKEN, f"{token}\n")
            return token
    except OSError as error:
        raise JournalError(f"{home / TOKEN} cannot be made ({error.strerror}).") from error


def read_token(home: Path) -> str:
    """Return the lasting token; empty where none was made. Raises ConfigError: it cannot be trusted."""
    path = home / TOKEN
    try:
        descriptor = os.open(path, OPEN)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}). {FIX}") from error
    try:
        _check(path, os.fstat(descriptor), home)
        _close_to_others(path, descriptor)
        token = os.read(descriptor, LONGEST_TOKEN).decode(errors="replace").strip()
    finally:
        os.close(descriptor)
    if token and (
        len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token
    ):
        raise ConfigError(f"{path} holds no token of {SHORTEST_TOKEN} or more letters and digits. {FIX}")
    return token


def _check(path: Path, found: os.stat_result, home: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ConfigError(f"{path} is no plain file. {FIX}")
    if found.st_uid not in (0, os.geteuid(), home.stat().st_uid):
        raise ConfigError(f"{path} belongs to another user, who may know what it holds. {FIX}")


def _close_to_others(path: Path, descriptor: int) -> None:
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if not mode & OTHERS:
        return
    os.fchmod(descriptor, mode & ~OTHERS)
    log.warning(
        "Other users could read %s until now, and the token in it opens the page. If one of them may have, "
        "remove it and start the daemon again: that makes a new one.",
        path,
    )


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Two daemons that share a home make one token."""
    folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
