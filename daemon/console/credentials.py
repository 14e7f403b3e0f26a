"""What opens the page: the lasting token, links that work once, and the sessions that these open.

Of a link or a session only a hash is kept, keyed with the token: under a new token none of them holds.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from daemon.engine.exceptions import JournalError

LINK_SECONDS = 600.0
"""Seconds in which a link may be opened."""
SESSION_IDLE_SECONDS = 7 * 86_400.0
"""Seconds without use after which a session ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretStore:
    """Random secrets of one kind: each is an empty file that is named by its keyed hash, and ends at the time
    of its last change.

    A copy of such a file that is made without its times has ended.
    """

    folder: Path
    key: str

    def hashed_name(self, secret: str) -> str:
        """Return what a secret is kept as; nothing leads back from it."""
        return hmac.new(_bytes(self.key), _bytes(secret), "sha256").hexdigest()

    def add(self, now: float, seconds: float) -> str:
        """Return a new secret that ends then; those that have ended are removed. Raises JournalError."""
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

    def end_of(self, name: str) -> float:
        """Return when the secret of this name ends, in Unix seconds; 0 where there is none."""
        try:
            return os.lstat(self.folder / name).st_mtime
        except FileNotFoundError:
            return 0.0
        except OSError as error:
            raise _unusable(self.folder, error) from error

    def move_end(self, name: str, ends: float) -> None:
        """Let it end then; where that cannot be written it ends as it was to."""
        with suppress(OSError):
            os.utime(self.folder / name, (ends, ends))

    def remove(self, name: str) -> bool:
        """End it now. Was it there? Of several who remove it only one is told so."""
        try:
            (self.folder / name).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unusable(self.folder, error) from error
        return True

    def _sweep(self, now: float) -> None:
        for path in self.folder.iterdir():
            if self.end_of(path.name) <= now:
                path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCredentials:
    """All that opens the page of one home. `now` gives Unix seconds."""

    token: str
    links: SecretStore
    sessions: SecretStore
    now: Callable[[], float]

    @classmethod
    def open_home(cls, home: Path, token: str, now: Callable[[], float]) -> Self:
        """Return those of this home under this lasting token."""
        links = SecretStore(folder=home / "console-links", key=token)
        sessions = SecretStore(folder=home / "console-sessions", key=token)
        return cls(token=token, links=links, sessions=sessions, now=now)

    def is_token(self, shown: str) -> bool:
        """True if this is the lasting token."""
        return hmac.compare_digest(_bytes(shown), _bytes(self.token))

    def session_of(self, shown: str) -> str:
        """Return the name of the session with this secret, which is used now; empty where there is none."""
        name = self.sessions.hashed_name(shown)
        if self.sessions.end_of(name) <= self.now():
            return ""
        self.sessions.move_end(name, self.now() + SESSION_IDLE_SECONDS)
        return name

    def make_link(self) -> str:
        """Return the secret of a new link. Raises JournalError where none can be kept."""
        return self.links.add(self.now(), LINK_SECONDS)

    def open_session(self, shown: str) -> str:
        """Return the secret of a new session for a link, which is used up, or for the lasting token.

        Empty where this is neither, or not any more. Raises JournalError.
        """
        if self.is_token(shown):
            return self.sessions.add(self.now(), SESSION_IDLE_SECONDS)
        link = self.links.hashed_name(shown)
        if self.links.end_of(link) <= self.now():
            return ""
        session = self.sessions.add(
            self.now(), SESSION_IDLE_SECONDS
        )  # where that fails, the link can be opened later
        if self.links.remove(link):
            return session
        self.sessions.remove(self.sessions.hashed_name(session))
        return ""


def _bytes(text: str) -> bytes:
    """Whatever a header or a request held, halves of characters included."""
    return text.encode(errors="surrogatepass")


def _unusable(folder: Path, error: OSError) -> JournalError:
    return JournalError(f"{folder} cannot be used ({error.strerror}): nobody can sign in on the page.")
