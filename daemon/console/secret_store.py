"""Stores of random secrets: links and sessions of the page, each with an expiry."""

from __future__ import annotations

import hmac
import os
import secrets
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from daemon.engine.exceptions import JournalError

LINKS, SESSIONS = "console-links", "console-sessions"
"""Folders of links and of sessions."""


@dataclass(frozen=True, kw_only=True)
class SecretStore(ABC):
    """Random secrets of one kind, known by their keyed hashes, each with the time of its expiry."""

    key: str

    def hashed_name(self, secret: str) -> str:
        return hmac.new(secret_bytes(self.key), secret_bytes(secret), "sha256").hexdigest()

    @abstractmethod
    async def add(self, now: float, seconds: float) -> str:
        """Add a secret that lasts some `seconds`, and remove expired ones. Raises JournalError."""

    @abstractmethod
    async def end_of(self, name: str) -> float:
        """Return the expiry; 0 without such a secret. Raises JournalError."""

    @abstractmethod
    async def move_end(self, name: str, ends: float) -> None:
        """Change the expiry, if that is possible now."""

    @abstractmethod
    async def remove(self, name: str) -> bool:
        """Remove a secret. Of concurrent calls, only one returns True. Raises JournalError."""


@dataclass(frozen=True, kw_only=True)
class FolderSecrets(SecretStore):
    """Secrets as empty files of a folder. A file's modification time is the expiry.

    Files copied without their times have expired.
    """

    folder: Path

    async def add(self, now: float, seconds: float) -> str:
        secret = secrets.token_urlsafe(32)
        path = self.folder / self.hashed_name(secret)
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._sweep(now)
            path.touch(mode=0o600, exist_ok=False)
            os.utime(path, (now + seconds, now + seconds))
        except OSError as error:
            raise _unusable(self.folder, error) from error
        return secret

    async def end_of(self, name: str) -> float:
        return self._end_of(name)

    async def move_end(self, name: str, ends: float) -> None:
        with suppress(OSError):
            os.utime(self.folder / name, (ends, ends))

    async def remove(self, name: str) -> bool:
        try:
            (self.folder / name).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unusable(self.folder, error) from error
        return True

    def _end_of(self, name: str) -> float:
        try:
            return os.lstat(self.folder / name).st_mtime
        except FileNotFoundError:
            return 0.0
        except OSError as error:
            raise _unusable(self.folder, error) from error

    def _sweep(self, now: float) -> None:
        for path in self.folder.iterdir():
            if self._end_of(path.name) <= now:
                path.unlink(missing_ok=True)


def secret_bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _unusable(folder: Path, error: OSError) -> JournalError:
    return JournalError(f"{folder} cannot be used ({error.strerror}): nobody can sign in on the page.")
