"""Links and sessions of the page where each daemon of a workspace finds them.

Files are asked in another thread, since their database may be slow.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from daemon.console.access import PageCredentials
from daemon.console.secret_store import LINKS, SESSIONS, SecretStore
from daemon.engine.exceptions import JournalError
from daemon.settings.private_files import PrivateFiles

T = TypeVar("T")

LEAST_EXTENSION = 3_600.0
"""Seconds by which an expiry has to move to be written."""

AWAY = "The log's database does not answer: nobody can sign in on the page now."


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSecrets(SecretStore):
    """Secrets as private files whose text is the expiry in Unix seconds. `folder` is theirs alone."""

    files: PrivateFiles
    folder: str

    async def add(self, now: float, seconds: float) -> str:
        secret = secrets.token_urlsafe(32)

        def add() -> None:
            for name in self.files.names(self.folder):
                if _expiry(self.files.read(name)) <= now:
                    self.files.remove(name)
            self.files.write(self._path(self.hashed_name(secret)), f"{now + seconds:.0f}")

        await _ask(add)
        return secret

    async def end_of(self, name: str) -> float:
        return _expiry(await _ask(lambda: self.files.read(self._path(name))))

    async def move_end(self, name: str, ends: float) -> None:
        def move() -> None:
            before = _expiry(self.files.read(self._path(name)))
            if before and ends - before >= LEAST_EXTENSION:
                self.files.write(self._path(name), f"{ends:.0f}")

        with suppress(JournalError):
            await _ask(move)

    async def remove(self, name: str) -> bool:
        return await _ask(lambda: self.files.remove(self._path(name)))

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}"


def open_shared_credentials(files: PrivateFiles, token: str, now: Callable[[], float]) -> PageCredentials:
    """Return credentials that hold on each daemon that keeps the same files."""
    links = SharedSecrets(files=files, folder=LINKS, key=token)
    sessions = SharedSecrets(files=files, folder=SESSIONS, key=token)
    return PageCredentials(token=token, links=links, sessions=sessions, now=now)


async def _ask(work: Callable[[], T]) -> T:
    """Ask the files in another thread. Raises JournalError."""
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise JournalError(AWAY) from error


def _expiry(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
