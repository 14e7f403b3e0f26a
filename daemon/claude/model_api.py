"""The port between the client and the API that a server speaks: how it is asked, and how its answer is read.

Retries, deadlines, windows, the budget and the call itself are the client's, and the same for every API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import httpx2

from daemon.claude.account import ProviderAccount
from daemon.claude.server_look_up import ServerLookUp
from daemon.claude.streamed import StreamedAnswer


class ModelAPI(Protocol):
    """One server, over connections that are kept until `close`.

    What fails is raised as the errors of `failure.FAILURES`: `APIConnectionError` where nobody answers,
    `APIStatusError` where the server refuses.
    """

    @property
    def account(self) -> ProviderAccount:
        """The server in words of owners."""

    async def send(self, request: Mapping[str, Any]) -> httpx2.Response:
        """Return the answer, a stream of server-sent events that has only begun: close it.

        The request is in Anthropic's form, without `stream`.
        """

    def begin(self, request: Mapping[str, Any]) -> StreamedAnswer:
        """Return an empty answer, which takes in the events of such a stream."""

    async def get(self, path: str, within: float) -> httpx2.Response:
        """Return what the API says of this path below its root (`models`), within so many seconds."""

    def server_look_up(self) -> ServerLookUp:
        """Return what asks this server for its models and its version."""

    async def close(self) -> None:
        """Give the connections back."""
