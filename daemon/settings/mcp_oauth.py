"""The key `oauth` of a server in mcp.json: a client that the owner registered with an authorization server.

Its keys are those of other MCP clients (`clientId`, `clientSecret`, `scopes`), and `grantType` and `issuer`.
Without the key, a server that asks for OAuth gets a client that registers itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from daemon.settings.mcp_servers import OAuthGrant, OAuthSettings
from daemon.settings.mcp_values import read_list, read_object, read_text
from daemon.settings.parse import UNSENDABLE, read_url

GRANTS: Sequence[OAuthGrant] = ("authorization_code", "client_credentials")

SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
"""Scope token of RFC 6749."""


def read_oauth(value: object, fill: Callable[[Any], Any]) -> OAuthSettings:
    """Read the object, with texts filled by `fill`; keys of other clients are ignored. Raises ValueError."""
    given = {key: fill(one) for key, one in read_object(value).items()}
    found = OAuthSettings(
        client_id=_read(given, "clientId", _credential),
        client_secret=_read(given, "clientSecret", _credential),
        scopes=_read(given, "scopes", _scopes) or (),
        grant=_read(given, "grantType", _grant) or "authorization_code",
        issuer=_read(given, "issuer", lambda url: read_url(read_text(url).strip())),
    )
    if found.grant == "client_credentials" and not (found.client_id and found.client_secret):
        raise ValueError("has `grantType` client_credentials, which needs `clientId` and `clientSecret`")
    if found.client_secret and not found.client_id:
        raise ValueError("has a `clientSecret` without `clientId`: write both")
    return found


def _read(given: Mapping[str, Any], key: str, read: Any) -> Any:
    if key not in given:
        return ""
    try:
        return read(given[key])
    except ValueError as error:
        raise ValueError(f"has a `{key}` that {error}") from None


def _credential(value: object) -> str:
    text = read_text(value).strip()
    if UNSENDABLE.search(text):
        raise ValueError("holds a line break or another character that cannot be sent: leave it out")
    return text


def _scopes(value: object) -> tuple[str, ...]:
    """Read a list of scopes, or a text with spaces between them."""
    if isinstance(value, str):
        return tuple(_scope(one) for one in value.split())
    return read_list(value, _scope, '["read", "write"]')


def _scope(value: object) -> str:
    text = read_text(value)
    if not SCOPE.fullmatch(text):
        raise ValueError("is no scope: write one word for each")
    return text


def _grant(value: object) -> OAuthGrant:
    if value not in GRANTS:
        raise ValueError(f"is none of {', '.join(GRANTS)}: write one of these, or leave it out")
    return cast(OAuthGrant, value)
