"""Interface of the tool servers: calls with their results and failures, and the states of connections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A call of `tool` (the server's own name); with `responses` and `state` it goes on after a question."""

    server: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    responses: Mapping[str, Any] = field(default_factory=dict)
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """A result as text for the model. `links` are addresses of resources that the server linked."""

    text: str
    is_error: bool = False
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputNeeded:
    """A call that needs input from people: the server's elicitation requests by key, and its state."""

    requests: Mapping[str, Mapping[str, Any]]
    state: str | None = None


class ToolCallFailed(Exception):
    """A call that certainly did nothing; the text says why, for the model and people, without secrets."""

    recorded_name = "ToolCallFailed"


class ToolOutcomeUnknown(Exception):
    """A call that may have been carried out: time-out, lost connection; the text says what happened."""

    recorded_name = "ToolOutcomeUnknown"


class StateExpired(ToolCallFailed):
    """The server no longer knows the state with which a call was to go on."""

    recorded_name = "StateExpired"


AskNow = Callable[[Mapping[str, Any]], Any]
"""Function that asks people during an open call, for servers of the older era."""


class ToolServers(Protocol):
    """Connections to the configured servers."""

    def state_of(self, server: str) -> ServerState: ...

    async def call(
        self, request: ToolRequest, progress: Callable[[str], None], ask: AskNow | None = None
    ) -> ToolResult | InputNeeded:
        """Call a tool. A cancelled wait sends the server a cancellation.

        Raises ToolCallFailed, StateExpired, ToolOutcomeUnknown.
        """

    async def read_resource(self, server: str, uri: str) -> ToolResult:
        """Read a resource that the server linked. Raises ToolCallFailed."""


ConnectionState = Literal["starting", "ready", "away", "needs consent", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """State of a connection. `why` says what is wrong and what to do; `latency` is of the last call (s)."""

    name: str
    state: ConnectionState
    why: str = ""
    since: float = 0.0
    protocol: str = ""
    latency: float | None = None
    calls: int = 0
    failures: int = 0
