"""Links and sessions of the page where each daemon of a workspace finds them.

A daemon remembers the sessions that it has seen: for some seconds, and for as long as the files are away.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from daemon.console.access import PageCredentials
from daemon.console.secret_store import LINKS, SESSIONS, SecretStore
from daemon.engine.exceptions import JournalError
from daemon.settings.private_files import PrivateFiles

T = TypeVar("T")

FRESH_SECONDS = 5.0
"""Seconds in which a session that ended on another daemon may still be open on this one."""

LEAST_EXTENSION = 3_600.0
"""Seconds by which an expiry has to move to be written."""

AWAY = "The log's database does not answer: nobody can sign in on the page now."


@dataclass(frozen=True, slots=True)
class SeenExpiry:
    ends: float
    seen: float


@dataclass(frozen=True, kw_only=True)
class SharedSecrets(SecretStore):
    """Secrets as private files whose text is the expiry in Unix seconds. `folder` is theirs alone."""

    files: PrivateFiles
    folder: str
    _seen: dict[str, SeenExpiry] = field(default_factory=dict)

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
        now, known = asyncio.get_running_loop().time(), self._seen.get(name)
        if known and now - known.seen < FRESH_SECONDS:
            return known.ends
        try:
            ends = _expiry(await _ask(lambda: self.files.read(self._path(name))))
        except JournalError:
            if known is None:
                raise
            return known.ends
        self._seen.pop(name, None)
        if ends:
            self._seen[name] = SeenExpiry(ends, now)
        return ends

    async def move_end(self, name: str, ends: float) -> None:
        known = self._seen.get(name)
        if known is None or ends - known.ends < LEAST_EXTENSION:
            return
        self._seen[name] = SeenExpiry(ends, known.seen)
        with suppress(JournalError):
            await _ask(lambda: self.files.write(self._path(name), f"{ends:.0f}"))

    async def remove(self, name: str) -> bool:
        self._seen.pop(name, None)
        return await _ask(lambda: self.files.remove(self._path(name)))

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}"


def open_shared_credentials(files: PrivateFiles, token: str, now: Callable[[], float]) -> PageCredentials:
    """Return credentials that hold on each daemon that keeps the same files."""
    links = SharedSecrets(files=files, folder=LINKS, key=token)
    sessions = SharedSecrets(files=files, folder=SESSIONS, key=token)
    return PageCredentials(token=token, links=links, sessions=sessions, now=now)


async def _ask(work: Callable[[], T]) -> T:
    """Ask the files in another thread, since their database may be slow. Raises JournalError."""
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise JournalError(AWAY) from error


def _expiry(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
