"""Interface of an open connection to a server, apart from the SDK that implements it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from daemon.settings.mcp_servers import ToolServerSettings
from daemon.settings.private_files import FolderFiles, PrivateFiles
from daemon.tools.tool_call import AskNow, InputNeeded, ToolRequest, ToolResult


class ConnectionFailed(Exception):
    """A connection that could not be opened or was lost; the text says why and what to do."""

    recorded_name = "ConnectionFailed"


class ConsentNeeded(ConnectionFailed):
    """A server that wants an owner to log in first."""

    recorded_name = "ConsentNeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class RawToolList:
    """Tools as JSON, as the server defined them.

    The list holds for `ttl` seconds; if that is 0, until the server says that it has changed.
    """

    tools: Sequence[Mapping[str, Any]]
    ttl: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionMeans:
    """Means of connections: `folder` for logs and records, and `secrets` to be masked in all texts.

    An isolated server cannot read the files `hidden`. `files` keep tokens; by default in the folder above.
    """

    folder: Path
    secrets: Collection[str] = field(default=(), repr=False)
    hidden: Sequence[Path] = ()
    files: PrivateFiles | None = None

    @property
    def private_files(self) -> PrivateFiles:
        """Files with the tokens of servers."""
        return self.files or FolderFiles(self.folder.parent)


class ConnectionEnd:
    """The end of a connection, and why it came; the first reason counts."""

    def __init__(self) -> None:
        self._came = asyncio.Event()
        self.why = ""

    def mark(self, why: str) -> None:
        if not self._came.is_set():
            self.why = why
            self._came.set()

    async def wait(self) -> str:
        await self._came.wait()
        return self.why


class ServerConnection(Protocol):
    """Open connection to a server."""

    @property
    def protocol(self) -> str: ...

    async def list_tools(self) -> RawToolList:
        """Ask for the tools. Raises ConnectionFailed."""

    async def call(
        self, request: ToolRequest, progress: Callable[[str], None], ask: AskNow | None
    ) -> ToolResult | InputNeeded:
        """Call a tool. Raises ToolCallFailed, StateExpired, ToolOutcomeUnknown."""

    async def read_resource(self, uri: str) -> ToolResult:
        """Read a resource. Raises ToolCallFailed."""

    async def wait_until_lost(self) -> str:
        """Wait for the end of the connection; return why it ended."""


class ServerOpener(Protocol):
    def __call__(
        self, settings: ToolServerSettings, means: ConnectionMeans, changed: Callable[[], None]
    ) -> AbstractAsyncContextManager[ServerConnection]:
        """Open a connection for the block; `changed` is called when the server's list of tools changed.

        Raises ConnectionFailed.
        """
