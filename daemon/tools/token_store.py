"""OAuth grant of each server: tokens, expiry, client registration and metadata.

One private file a server, replaced atomically, and read again when another process has written it. A grant
belongs to one address: when the owner changes the address, its tokens are not sent to the new one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from daemon.settings.private_files import PrivateFiles

TOKENS_FOLDER = "oauth-tokens"


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

    def __init__(self, files: PrivateFiles, server: str, url: str) -> None:
        self._files = files
        self._url = url
        self._name = f"{TOKENS_FOLDER}/{server}.json"
        self._text: str | None = None
        self._grant = StoredGrant(url=url)

    @property
    def stamp(self) -> str | None:
        """Mark of what is stored, which differs after each change; None if nothing is, or cannot be read."""
        try:
            return self._files.read(self._name)
        except (OSError, UnicodeDecodeError):
            return None

    def read(self) -> StoredGrant:
        """Return the grant as it is now; an empty one if there is none, or for another address.

        While the files are away, it is what was read last.
        """
        try:
            text = self._files.read(self._name)
        except UnicodeDecodeError:
            text = None
        except OSError:
            return self._grant
        if text != self._text:
            self._grant = self._load(text or "")
            self._text = text
        return self._grant

    def _load(self, text: str) -> StoredGrant:
        try:
            grant = GRANT.validate_json(text)
        except ValidationError:
            return StoredGrant(url=self._url)
        return grant if grant.url == self._url else StoredGrant(url=self._url)

    def write(self, grant: StoredGrant) -> None:
        """Replace the grant. Raises OSError."""
        self._files.write(self._name, json.dumps(asdict(grant), indent=1))

    def locked(self) -> AbstractAsyncContextManager[None]:
        """Keep other processes from a refresh: many servers accept a refresh token once. Raises OSError."""
        return self._files.locked(self._name)
