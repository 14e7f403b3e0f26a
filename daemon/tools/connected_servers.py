"""Connections to the configured servers: one task owns one server, opens it, follows it and closes it.

Nobody waits for a server but who calls it. A server that is away is tried again, at growing distances.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from daemon.engine.clock import Clock
from daemon.engine.exceptions import JournalError
from daemon.settings.mcp_servers import ToolServerSettings, ToolServersFile
from daemon.tools.connected_server import LIST_PAUSE, ConnectedServer, ToolRecorder
from daemon.tools.connection import ConnectionMeans, ServerOpener
from daemon.tools.server_process import end_orphans
from daemon.tools.tool_call import (
    AskNow,
    InputNeeded,
    ServerState,
    ToolCallFailed,
    ToolRequest,
    ToolResult,
)

log = logging.getLogger(__name__)

CONNECTION_FIELDS = (
    "url",
    "command",
    "args",
    "env",
    "headers",
    "oauth",
    "cwd",
    "timeout",
    "start_timeout",
    "sandbox",
)
"""Settings that need a new connection when they change."""

MOST_ENDING = 5.0
"""Seconds that servers may take to end."""

NOT_CONFIGURED = "There is no server {name} any more: an owner took it out of mcp.json."


class ServerConfiguration(Protocol):
    """The owner's servers; take `changed`, use `current`, then wait for the event."""

    @property
    def current(self) -> ToolServersFile: ...
    @property
    def changed(self) -> asyncio.Event: ...


class ConnectedServers:
    """Servers of a configuration, connected inside the block; entering waits for none of them.

    `load` brings the function that opens connections; its import takes seconds, so it waits until there are
    servers.
    """

    def __init__(
        self,
        configuration: ServerConfiguration,
        load: Callable[[], Awaitable[ServerOpener]],
        recorder: ToolRecorder,
        clock: Clock,
        means: ConnectionMeans,
    ) -> None:
        self._configuration = configuration
        self._load = load
        self._recorder = recorder
        self._clock = clock
        self._means = means
        self._connect: ServerOpener | None = None
        self._servers: dict[str, ConnectedServer] = {}
        self._runs: dict[str, asyncio.Task[None]] = {}
        self._tasks = set[asyncio.Task[None]]()
        """Tasks of servers, also of those that are ending."""
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        for settings in self._configuration.current.servers.values():
            self._add(settings)
        self._following = asyncio.create_task(self._follow(), name="tool servers")
        self._following.add_done_callback(self._ended)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all servers, side by side. One that takes too long to part is left."""
        tasks = [task for task in (self._following, *self._tasks) if task]
        for _ in range(2):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=MOST_ENDING)

    @property
    def names(self) -> Sequence[str]:
        return [*self._servers]

    def state_of(self, server: str) -> ServerState:
        known = self._servers.get(server)
        return known.state if known else ServerState(name=server, state="off")

    async def call(
        self, request: ToolRequest, progress: Callable[[str], None], ask: AskNow | None = None
    ) -> ToolResult | InputNeeded:
        return await self._server(request.server).call(request, progress, ask)

    async def read_resource(self, server: str, uri: str) -> ToolResult:
        return await self._server(server).read_resource(uri)

    def _server(self, name: str) -> ConnectedServer:
        server = self._servers.get(name)
        if server is None:
            raise ToolCallFailed(NOT_CONFIGURED.format(name=name))
        return server

    async def _follow(self) -> None:
        """Start the servers, and adapt to each change of the configuration."""
        for group in await asyncio.to_thread(end_orphans, self._means.folder):
            log.info("Ended the tool server %d of a daemon that was killed.", group)
        while True:
            changed = self._configuration.changed
            servers = self._configuration.current.servers
            await self._record_settings(servers)
            if servers and self._connect is None:
                self._means.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._connect = await self._load()
            if self._connect:
                self._adapt(servers, self._connect)
            await changed.wait()

    async def _record_settings(self, servers: Mapping[str, ToolServerSettings]) -> None:
        while True:
            try:
                await self._recorder.record_settings(servers)
                return
            except JournalError as error:
                log.warning("The rules of tool servers could not be recorded, which is retried: %s", error)
                await self._clock.sleep(LIST_PAUSE)

    def _adapt(self, wanted: Mapping[str, ToolServerSettings], connect: ServerOpener) -> None:
        for name, server in [*self._servers.items()]:
            settings = wanted.get(name)
            if settings and is_same_connection(server.settings, settings):
                server.change_rules(settings)
            else:
                self._remove(name)
        for name, settings in wanted.items():
            server = self._servers.get(name) or self._add(settings)
            if name not in self._runs:
                self._begin(server, connect)

    def _add(self, settings: ToolServerSettings) -> ConnectedServer:
        server = ConnectedServer(settings, self._recorder, self._clock, self._means)
        self._servers[settings.name] = server
        return server

    def _begin(self, server: ConnectedServer, connect: ServerOpener) -> None:
        task = asyncio.create_task(server.run(connect), name=f"tool server {server.name}")
        self._runs[server.name] = task
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _remove(self, name: str) -> None:
        """End a server, without waiting for its end."""
        del self._servers[name]
        task = self._runs.pop(name, None)
        if task:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.critical("The task %s failed. Restart the daemon.", task.get_name(), exc_info=error)


def is_same_connection(one: ToolServerSettings, other: ToolServerSettings) -> bool:
    """True if the settings differ at most in rules, which need no new connection."""
    return all(getattr(one, name) == getattr(other, name) for name in CONNECTION_FIELDS)
