"""Placement of tool servers that are programs: one daemon runs them, the others use them there.

A program is started only after the entry that names its daemon is in the journal. Servers over HTTP are
connected by each daemon.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.kinds import TOOLS, ToolServerPlaced
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.connection import ConnectionFailed, ConnectionMeans, ServerConnection, ServerOpener
from daemon.tools.hosted_servers import HostedServers
from daemon.tools.relayed_connection import open_relayed
from daemon.web.peer_channel import ChannelOpener

ROLE_PAUSE = 0.5
"""Seconds between two tries while no daemon has the role, or its daemon cannot be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedServers:
    """Opener of connections, as a function of the role of this daemon.

    `open_here` connects a server from this daemon, `to_host` opens channels to the daemon with the role.
    """

    open_here: ServerOpener
    to_host: ChannelOpener
    hosted: HostedServers
    journal: Journal
    machine: str
    worker_id: int
    has_role: Callable[[], bool]

    def __call__(
        self, settings: ToolServerSettings, means: ConnectionMeans, changed: Callable[[], None]
    ) -> AbstractAsyncContextManager[ServerConnection]:
        if settings.url:
            return self.open_here(settings, means, changed)
        return self._open_placed(settings, means, changed)

    @asynccontextmanager
    async def _open_placed(
        self, settings: ToolServerSettings, means: ConnectionMeans, changed: Callable[[], None]
    ) -> AsyncIterator[ServerConnection]:
        """Run the server here, or use it where it runs; until one of them is possible, wait."""
        async with AsyncExitStack() as stack:
            while not self.has_role():
                try:
                    relayed = open_relayed(settings, self.to_host, changed)
                    connection: ServerConnection = await stack.enter_async_context(relayed)
                except ConnectionFailed:
                    await asyncio.sleep(ROLE_PAUSE)
                    continue
                yield connection
                return
        await self._place(settings.name)
        async with (
            self.open_here(settings, means, changed) as opened,
            self.hosted.hosting(settings.name, opened) as hosted,
        ):
            yield hosted

    async def _place(self, server: str) -> None:
        """Record that this daemon runs the server. Raises ConnectionFailed."""
        placed = ToolServerPlaced(server=server, machine=self.machine, daemon=self.worker_id)
        key = f"server-placed:{self.worker_id}:{server}"
        try:
            await self.journal.append(TOOLS, placed, key=key, author="core")
        except JournalError as error:
            raise ConnectionFailed(f"It is not started, since this cannot be recorded: {error}") from error
