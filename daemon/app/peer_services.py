"""Work of the daemons of a workspace for each other: tool servers, running calls, and what each states."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Self

from aiohttp import web

from config import Settings
from daemon.app.machines import PlaceServers
from daemon.app.stated_digests import MachineDigests
from daemon.cluster.log_queries import LogAway, LogQueries
from daemon.cluster.membership import Membership
from daemon.cluster.peers import PeerClient, PeerRoutes, make_peer_key
from daemon.cluster.roles import Roles
from daemon.cluster.thought_relay import THOUGHTS, WorkspaceThoughts, thought_stream
from daemon.console.live_calls import LiveCalls, LiveThoughts
from daemon.engine.clock import Clock
from daemon.engine.journal.journal import Journal
from daemon.lifetime import in_background
from daemon.settings.private_files import PrivateFiles
from daemon.tools.connection import ServerOpener
from daemon.tools.hosted_servers import HostedServers
from daemon.tools.placed_servers import PlacedServers
from daemon.web.peer_channel import PeerAway, PeerChannel

TOOL_SERVERS = "tool servers"
"""Role of the daemon that runs tool servers, and name of the channel to it."""

NOBODY = "No daemon has taken over the tool servers yet."


class PeerServices:
    """Requests from and to the other daemons; a context in which this one makes them.

    `confirm` waits until this daemon is sure that it does not count as dead.
    """

    def __init__(
        self,
        settings: Settings,
        membership: Membership,
        roles: Roles,
        queries: LogQueries,
        confirm: Callable[[], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._membership = membership
        self._roles = roles
        self._queries = queries
        self._hosted = HostedServers(confirm)
        self._routes = PeerRoutes()
        self._routes.worker_id = membership.worker_id
        self._routes.answers[TOOL_SERVERS] = self._hosted.answer
        self._client: PeerClient

    @asynccontextmanager
    async def connected(self, files: PrivateFiles) -> AsyncIterator[Self]:
        """Share a key with the other daemons. Raises OSError."""
        self._routes.key = key = make_peer_key(files)
        async with PeerClient(key, self._addresses) as self._client:
            yield self

    def mount(self, app: web.Application) -> None:
        self._routes.mount(app)

    def stating_digests(self, folder: Path, clock: Clock) -> AbstractAsyncContextManager[None]:
        """State digests of this machine's files inside the block; `folder` holds the owner's texts."""

        def report(digests: Mapping[str, str]) -> None:
            self._membership.report(digests=digests)

        return in_background(MachineDigests(self._settings, folder).keep_stated(report, clock))

    def show_thoughts(self, own: LiveCalls) -> LiveThoughts:
        """Return the running calls of all daemons; those of this one are shown on the pages of the others."""
        self._routes.streams[THOUGHTS] = thought_stream(own)
        return WorkspaceThoughts(own, self._client, self._others)

    def place_servers(self, journal: Journal) -> PlaceServers:
        """Return a function that lets one daemon alone run each tool server that is a program."""

        def place(open_here: ServerOpener) -> ServerOpener:
            return PlacedServers(
                open_here=open_here,
                to_host=self._to_host,
                hosted=self._hosted,
                journal=journal,
                machine=self._settings.machine_name,
                worker_id=self._membership.worker_id,
                has_role=lambda: self._roles.holds(TOOL_SERVERS),
            )

        return place

    @asynccontextmanager
    async def _to_host(self) -> AsyncIterator[PeerChannel]:
        try:
            query = "select worker_id from soul_role where name = %s"
            host = await self._queries.ask(query, TOOL_SERVERS)
        except LogAway as away:
            raise PeerAway(str(away)) from away
        if host is None or host == self._membership.worker_id:
            raise PeerAway(NOBODY)
        async with self._client.channel(host, TOOL_SERVERS) as channel:
            yield channel

    def _addresses(self) -> Mapping[int, str]:
        return {row.worker_id: row.address for row in self._membership.alive}

    def _others(self) -> list[int]:
        return [worker for worker in self._addresses() if worker != self._membership.worker_id]
