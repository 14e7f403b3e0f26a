"""Channel of JSON messages between two daemons of one workspace."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

PEERS_PATH = "/cluster/"
"""Path of what daemons alone may ask of each other; each request shows the key that they share."""


class PeerAway(Exception):
    """The other daemon cannot be reached, or went away; the text says which and why."""

    recorded_name = "PeerAway"


class PeerChannel(Protocol):
    """Open channel; methods raise PeerAway."""

    async def send(self, message: Mapping[str, Any]) -> None: ...
    async def receive(self) -> Mapping[str, Any]: ...


class ChannelOpener(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[PeerChannel]:
        """Open a channel for the block; nothing was sent yet. Raises PeerAway."""
