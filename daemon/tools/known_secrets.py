"""Secrets of a server that its results and errors must not show.

Its environment also holds values that are none, as a time zone or a folder, which its results need.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from daemon.settings.mcp_servers import ToolServerSettings

SECRET_NAME = re.compile("key|token|secret|pass|auth|credential", re.IGNORECASE)
"""Pattern in the names of variables that hold secrets."""

KEY_LIKE = re.compile(r"(?=[^/\\]*[0-9])[^\s/\\]{16,}")
"""Form of a value that may be a key, and is no path, sentence or name."""


def answer_secrets(settings: ToolServerSettings) -> list[str]:
    """Return the secrets to be masked in what the server answers."""
    return [secret for secret in settings.secrets if secret in {*_likely(settings)}]


def _likely(settings: ToolServerSettings) -> Iterator[str]:
    for name, value in settings.env.items():
        if SECRET_NAME.search(name) or KEY_LIKE.fullmatch(value):
            yield value
    for value in settings.headers.values():
        yield value
        yield from value.split()[-1:]
    yield settings.oauth.client_secret
    yield from filter(KEY_LIKE.fullmatch, settings.filled)
