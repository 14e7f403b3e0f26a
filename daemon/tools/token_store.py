"""OAuth grant of each server on disk: tokens, expiry, client registration and metadata.

One private file a server, replaced atomically, and read again when another process has written it. A grant
belongs to one address: when the owner changes the address, its tokens are not sent to the new one.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from daemon.settings.home import write_private

TOKENS_FOLDER = "oauth-tokens"

LOCK_PAUSE = 0.05
"""Seconds between two tries to get the lock of a grant."""

Stamp = tuple[int, int, int]
NEVER: Stamp = (0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGrant:
    """A server's grant, with objects as the authorization server sent them (RFC 6749, 7591, 8414, 9728).

    `expires_at`: Unix seconds; None if unknown. `authorization_server`: address that the server named.
    `lacking`: scopes that a request lacked, with spaces between.
    """

    url: str
    tokens: Mapping[str, Any] = field(default_factory=dict, repr=False)
    expires_at: float | None = None
    client: Mapping[str, Any] = field(default_factory=dict, repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    resource: Mapping[str, Any] = field(default_factory=dict)
    authorization_server: str = ""
    lacking: str = ""

    @property
    def access_token(self) -> str:
        token = self.tokens.get("access_token", "")
        return token if isinstance(token, str) else ""

    @property
    def secrets(self) -> Sequence[str]:
        """Texts that nobody may see."""
        found = [self.tokens.get("access_token"), self.tokens.get("refresh_token")]
        return [text for text in (*found, self.client.get("client_secret")) if isinstance(text, str)]

    def expires_by(self, time: float) -> bool:
        return self.expires_at is not None and self.expires_at <= time


GRANT = TypeAdapter(StoredGrant)


class TokenStore:
    """The grant of one server."""

    def __init__(self, home: Path, server: str, url: str) -> None:
        self._url = url
        self._path = home / TOKENS_FOLDER / f"{server}.json"
        self._stamp: Stamp = NEVER
        self._grant = StoredGrant(url=url)

    @property
    def stamp(self) -> Stamp:
        """Mark of the file's state, which differs after each write."""
        try:
            found = self._path.stat()
        except OSError:
            return NEVER
        return found.st_mtime_ns, found.st_ino, found.st_size

    def read(self) -> StoredGrant:
        """Return the grant as it is now; an empty one if there is none, or for another address."""
        stamp = self.stamp
        if stamp != self._stamp:
            self._grant = self._load()
            self._stamp = stamp
        return self._grant

    def _load(self) -> StoredGrant:
        try:
            grant = GRANT.validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return StoredGrant(url=self._url)
        return grant if grant.url == self._url else StoredGrant(url=self._url)

    def write(self, grant: StoredGrant) -> None:
        """Replace the grant. Raises OSError."""
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        write_private(self._path, json.dumps(asdict(grant), indent=1))

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Keep other processes from a refresh: many servers accept a refresh token once. Raises OSError."""
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while True:
                if _is_locked(lock):
                    break
                await asyncio.sleep(LOCK_PAUSE)
            yield
        finally:
            os.close(lock)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
