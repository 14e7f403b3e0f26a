"""MCP servers that the owner configured in mcp.json."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

ApprovalRule = Literal["writes", "always", "never"]
"""Rule of asking before a call: unless the tool only reads, each time, or never."""

APPROVE_WRITES: Sequence[tuple[str, ApprovalRule]] = (("*", "writes"),)

LEAST_SECRET = 6
"""Fewest characters of a value that is masked: shorter ones (`1`, `true`, `debug`) are parts of any text."""

SECRET_NAME = re.compile("key|token|secret|pass|auth|credential", re.IGNORECASE)
"""Pattern in the names of variables that hold secrets."""

KEY_LIKE = re.compile(r"(?=[^/\\]*[0-9])[^\s/\\]{16,}")
"""Form of a value that may be a key, and is no path, sentence or name."""

DIRECT_MESSAGES = "dm"
"""Word for direct messages among the channels of a server."""

OAuthGrant = Literal["authorization_code", "client_credentials"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSettings:
    """Client of the owner; with `client_credentials` no person consents.

    `issuer` is the authorization server that may get the secret; without it, only the server's own origin.
    """

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()
    grant: OAuthGrant = "authorization_code"
    issuer: str = ""


NO_OAUTH = OAuthSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServerSettings:
    """An MCP server as configured: a `url` (streamable HTTP) or a `command` (stdio), and our rules for it.

    `allow` and `deny` are globs over the server's own tool names; deny wins. `approval` maps globs to rules,
    the first match wins. `approvers` are "owner", "asker" and user groups `S…`. `channels` are names or ids,
    or "dm"; all if empty. Timeouts are in seconds. Values of `headers` and `env` are secrets, and so are
    `filled`, the values that variables had in its other texts.
    """

    name: str
    url: str = field(default="", repr=False)
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    oauth: OAuthSettings = NO_OAUTH
    cwd: str = ""
    trusted: bool = False
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    approval: Sequence[tuple[str, ApprovalRule]] = APPROVE_WRITES
    approvers: tuple[str, ...] = ("owner",)
    channels: tuple[str, ...] = ()
    outsiders: bool = False
    timeout: float = 60.0
    start_timeout: float = 60.0
    sandbox: bool = False
    filled: tuple[str, ...] = field(default=(), repr=False)

    @property
    def secrets(self) -> Sequence[str]:
        """Texts that nobody may see, the longest first, so that a part of one hides no other."""
        return _maskable([*self.filled, *self.env.values(), *self._sent()])

    @property
    def answer_secrets(self) -> Sequence[str]:
        """Secrets to be masked in what the server answers.

        Its environment also holds values that are none, as a time zone or a folder, which its results need.
        """
        likely = {*self._likely_variables(), *self._sent(), *filter(KEY_LIKE.fullmatch, self.filled)}
        return [secret for secret in self.secrets if secret in likely]

    @property
    def has_written_secrets(self) -> bool:
        """True if secrets may stand in the file itself, and not only the names of variables."""
        values = [*self.headers.values(), *self.env.values(), self.oauth.client_secret]
        return any(
            len(value) >= LEAST_SECRET and not any(one in value for one in self.filled) for value in values
        )

    def _likely_variables(self) -> Iterator[str]:
        for name, value in self.env.items():
            if SECRET_NAME.search(name) or KEY_LIKE.fullmatch(value):
                yield value

    def _sent(self) -> Iterator[str]:
        """Yield each header's value, its last word (the token of `Bearer …`), and the client's secret."""
        for value in self.headers.values():
            yield value
            yield from value.split()[-1:]
        yield self.oauth.client_secret


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServersFile:
    """The servers of mcp.json by name, remarks about ignored keys, and faults; servers with faults are
    left out.
    """

    servers: Mapping[str, ToolServerSettings] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    faults: Sequence[str] = ()

    @property
    def secrets(self) -> Sequence[str]:
        """Texts of all servers that nobody may see, the longest first."""
        return _maskable(secret for server in self.servers.values() for secret in server.secrets)


def _maskable(values: Iterable[str]) -> Sequence[str]:
    found = {value for value in values if len(value) >= LEAST_SECRET}
    return sorted(found, key=lambda value: (-len(value), value))
