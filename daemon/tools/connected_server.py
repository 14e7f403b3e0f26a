"""One configured server, whose connection one task opens, follows, closes and opens again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from daemon.engine.clock import Clock
from daemon.engine.exceptions import JournalError
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.connection import (
    ConnectionFailed,
    ConnectionMeans,
    ConsentNeeded,
    RawToolList,
    ServerConnection,
    ServerOpener,
)
from daemon.tools.token_store import TokenStore
from daemon.tools.tool_call import (
    AskNow,
    ConnectionState,
    InputNeeded,
    ServerState,
    ToolCallFailed,
    ToolOutcomeUnknown,
    ToolRequest,
    ToolResult,
)

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds between two tries of a server that is away; each is twice as long as the one before."""

STABLE = 60.0
"""Seconds of service after which a server that ends is tried again at once."""

LEAST_TTL = 60.0
"""Least seconds after which a list is asked for because it is old."""

LIST_PAUSE = 5.0
"""Least seconds between two lists: a server that announces changes without end is not followed to each."""

REST_SHARE = 20
"""Least pause after a list, as a multiple of the time that it took."""

CONSENT_PAUSE = 1.0
"""Seconds between two looks for a consent that was given."""

STARTING = 10.0
"""Most seconds that a call waits for a server that is starting for the first time."""


class ToolRecorder(Protocol):
    """Record of the tools that servers offer."""

    async def record_list(
        self, settings: ToolServerSettings, protocol: str, raw: Sequence[Mapping[str, Any]]
    ) -> None:
        """Record a server's tools, given as JSON. Raises JournalError."""

    async def record_settings(self, servers: Mapping[str, ToolServerSettings]) -> None:
        """Record changed rules of servers, and which were removed. Raises JournalError."""


class ConnectedServer:
    """A server, its state, and calls to it; the task of `run` keeps it connected."""

    def __init__(
        self, settings: ToolServerSettings, recorder: ToolRecorder, clock: Clock, means: ConnectionMeans
    ) -> None:
        self._settings = settings
        self._recorder = recorder
        self._clock = clock
        self._means = means
        self._stale = asyncio.Event()
        self._list_pause = LIST_PAUSE
        self._connection: ServerConnection | None = None
        self._tried = asyncio.Event()
        """Set when the first try has ended, well or not."""
        self.state = ServerState(name=settings.name, state="starting", since=clock.now())

    @property
    def name(self) -> str:
        return self._settings.name

    @property
    def settings(self) -> ToolServerSettings:
        return self._settings

    def change_rules(self, settings: ToolServerSettings) -> None:
        """Take settings that differ in rules alone."""
        if settings != self._settings:
            self._settings = settings
            self._stale.set()  # a tool that was not allowed may be now

    async def run(self, connect: ServerOpener) -> None:
        """Serve until cancelled."""
        pause = FIRST_PAUSE
        try:
            while True:
                began = self._clock.steady()
                why = await self._serve_well(connect)
                if self._clock.steady() - began > STABLE:
                    pause = FIRST_PAUSE
                log.info("The tool server %s is away; next try in %g s: %s", self.name, pause, why)
                await self._pause(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        finally:
            self._leave("off", "")

    async def _serve_well(self, connect: ServerOpener) -> str:
        """Serve; a fault of ours is logged, and costs one connection."""
        try:
            return await self._serve(connect)
        except Exception:
            log.exception("The connection to the tool server %s failed; it is opened again.", self.name)
            return self._leave("away", "Its connection failed in a way that the log of the daemon shows.")

    async def _pause(self, seconds: float) -> None:
        """Wait before the next try; a consent that is given meanwhile ends the wait."""
        if self.state.state != "needs consent":
            await self._clock.sleep(seconds)
            return
        tokens = TokenStore(self._means.private_files, self.name, self._settings.url)
        before, until = tokens.stamp, self._clock.steady() + seconds
        while tokens.stamp == before and self._clock.steady() < until:
            await self._clock.sleep(CONSENT_PAUSE)

    async def _serve(self, connect: ServerOpener) -> str:
        """Connect and follow the server until its connection is lost; return why."""
        try:
            async with (
                asyncio.timeout(self._settings.start_timeout) as limit,
                connect(self._settings, self._means, self._stale.set) as connection,
            ):
                listed = await self._list(connection)
                limit.reschedule(None)
                self._enter(connection)
                why = await self._follow(connection, listed)
                self._leave("away", why)  # before it is closed, which may take long
                return why
        except ConsentNeeded as error:
            return self._leave("needs consent", str(error))
        except ConnectionFailed as error:
            return self._leave("away", str(error))
        except TimeoutError:
            return self._leave("away", f"It did not start within {self._settings.start_timeout:g} s.")

    async def _list(self, connection: ServerConnection) -> RawToolList:
        self._stale.clear()
        began = self._clock.steady()
        try:
            async with asyncio.timeout(self._settings.start_timeout):
                listed = await connection.list_tools()
        except TimeoutError:
            raise ConnectionFailed("It did not list its tools in time.") from None
        self._list_pause = max(LIST_PAUSE, REST_SHARE * (self._clock.steady() - began))
        try:
            await self._recorder.record_list(self._settings, connection.protocol, listed.tools)
        except JournalError as error:
            log.warning("The tools of %s could not be recorded, which is retried: %s", self.name, error)
            self._stale.set()
        return listed

    async def _follow(self, connection: ServerConnection, listed: RawToolList) -> str:
        """Ask for the list whenever it is stale, until the connection is lost; return why."""
        lost = asyncio.create_task(connection.wait_until_lost())
        try:
            while True:
                stale = asyncio.create_task(self._wait_until_stale(listed.ttl))
                try:
                    await asyncio.wait([lost, stale], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    stale.cancel()
                if lost.done():
                    return lost.result()
                listed = await self._list(connection)
        finally:
            lost.cancel()

    async def _wait_until_stale(self, ttl: float) -> None:
        await self._clock.sleep(self._list_pause)
        waits: list[asyncio.Task[Any]] = [asyncio.create_task(self._stale.wait())]
        if ttl:
            waits.append(asyncio.create_task(self._clock.sleep(max(ttl, LEAST_TTL) - LIST_PAUSE)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()

    def _enter(self, connection: ServerConnection) -> None:
        self._connection = connection
        self._set_state("ready", protocol=connection.protocol, why="")
        self._tried.set()

    def _leave(self, state: ConnectionState, why: str) -> str:
        self._connection = None
        self._set_state(state, why=why)
        self._tried.set()
        return why

    def _set_state(self, state: ConnectionState, **facts: Any) -> None:
        self.state = replace(self.state, state=state, since=self._clock.now(), **facts)

    async def call(
        self, request: ToolRequest, progress: Callable[[str], None], ask: AskNow | None
    ) -> ToolResult | InputNeeded:
        """Call a tool. Raises ToolCallFailed, StateExpired, ToolOutcomeUnknown."""
        connection = await self._connected()
        began = self._clock.steady()
        try:
            result = await connection.call(request, progress, ask)
        except (ToolCallFailed, ToolOutcomeUnknown):
            self._count(failures=1)
            raise
        self._count(latency=self._clock.steady() - began)
        return result

    async def read_resource(self, uri: str) -> ToolResult:
        """Read a resource. Raises ToolCallFailed."""
        return await (await self._connected()).read_resource(uri)

    async def _connected(self) -> ServerConnection:
        """Return the open connection. Raises ToolCallFailed if the server is away."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STARTING):
                await self._tried.wait()
        if self._connection is None:
            why = self.state.why or "It is starting."
            raise ToolCallFailed(f"{self.name} is away, so nothing was called. {why}")
        return self._connection

    def _count(self, *, failures: int = 0, latency: float | None = None) -> None:
        if latency is None:
            latency = self.state.latency
        self.state = replace(
            self.state,
            calls=self.state.calls + 1,
            failures=self.state.failures + failures,
            latency=latency,
        )
