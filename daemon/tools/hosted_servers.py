"""Tool servers that this daemon runs for the others of its workspace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import Any

from daemon.engine.exceptions import recorded_name
from daemon.tools.connection import RawToolList, ServerConnection
from daemon.tools.tool_call import (
    AskNow,
    InputNeeded,
    ToolCallFailed,
    ToolOutcomeUnknown,
    ToolRequest,
    ToolResult,
)
from daemon.web.peer_channel import PeerAway, PeerChannel

AWAY = "{server} is away, so nothing was called: its daemon is starting it, or has just ended it."

Call = Coroutine[Any, Any, ToolResult | InputNeeded]


class HostedServer:
    """Connection to a server of this daemon, which remembers the list of tools for others."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        self._listed: RawToolList | None = None
        self._changed = asyncio.Event()
        self.is_closed = False

    @property
    def protocol(self) -> str:
        return self._connection.protocol

    async def list_tools(self) -> RawToolList:
        self._listed = await self._connection.list_tools()
        self._wake_followers()
        return self._listed

    async def call(
        self, request: ToolRequest, progress: Callable[[str], None], ask: AskNow | None
    ) -> ToolResult | InputNeeded:
        return await self._connection.call(request, progress, ask)

    async def read_resource(self, uri: str) -> ToolResult:
        return await self._connection.read_resource(uri)

    async def wait_until_lost(self) -> str:
        return await self._connection.wait_until_lost()

    async def follow(self) -> AsyncIterator[RawToolList]:
        """Yield the list of tools, and each later one, until the connection is closed."""
        sent = None
        while not self.is_closed:
            changed = self._changed
            if self._listed is not None and self._listed is not sent:
                sent = self._listed
                yield sent
            else:
                await changed.wait()

    def close(self) -> None:
        self.is_closed = True
        self._wake_followers()

    def _wake_followers(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class HostedServers:
    """Servers of this daemon, and answers to other daemons that use them.

    `confirm` waits until this daemon is sure that it does not count as dead.
    """

    def __init__(self, confirm: Callable[[], Awaitable[None]]) -> None:
        self._confirm = confirm
        self._servers: dict[str, HostedServer] = {}

    @asynccontextmanager
    async def hosting(self, server: str, connection: ServerConnection) -> AsyncIterator[HostedServer]:
        hosted = self._servers[server] = HostedServer(connection)
        try:
            yield hosted
        finally:
            hosted.close()
            if self._servers.get(server) is hosted:
                del self._servers[server]

    async def answer(self, channel: PeerChannel) -> None:
        """Answer what another daemon asks on a channel, until it is done or the channel closed."""
        with suppress(PeerAway):
            said = await channel.receive()
            match said:
                case {"follow": str(server)}:
                    await self._tell_lists(server, channel)
                case {"read": str(uri), "server": str(server)}:
                    await self._run(server, channel, lambda hosted: hosted.read_resource(uri))
                case {"call": Mapping() as call, "asks": bool(asks)}:
                    await self._call(ToolRequest(**call), channel, asks=asks)

    async def _tell_lists(self, server: str, channel: PeerChannel) -> None:
        hosted = self._servers.get(server)
        if hosted is not None:
            leaving = asyncio.create_task(channel.receive())
            telling = asyncio.create_task(_tell_all(hosted, channel))
            await _first_of(telling, leaving)
        await channel.send({"away": AWAY.format(server=server)})

    async def _call(self, request: ToolRequest, channel: PeerChannel, *, asks: bool) -> None:
        conversation = CallChannel(channel)
        ask = conversation.ask if asks else None
        await self._run(
            request.server,
            channel,
            lambda hosted: hosted.call(request, conversation.report, ask),
            conversation.take_answers(),
        )

    async def _run(
        self,
        server: str,
        channel: PeerChannel,
        work: Callable[[HostedServer], Call],
        hearing: Coroutine[Any, Any, None] | None = None,
    ) -> None:
        """Do the work, unless the other daemon leaves meanwhile, and send its result."""
        running = asyncio.create_task(self._outcome(server, work))
        leaving = asyncio.create_task(hearing or _wait_until_closed(channel))
        await _first_of(running, leaving)
        if not running.cancelled():
            await channel.send(running.result())

    async def _outcome(self, server: str, work: Callable[[HostedServer], Call]) -> Mapping[str, Any]:
        await self._confirm()
        hosted = self._servers.get(server)
        try:
            if hosted is None:
                raise ToolCallFailed(AWAY.format(server=server))
            result = await work(hosted)
        except (ToolCallFailed, ToolOutcomeUnknown) as error:
            return {"failed": recorded_name(error), "text": str(error)}
        return {"needed" if isinstance(result, InputNeeded) else "result": asdict(result)}


class CallChannel:
    """Reports and questions of an open call, and the answers to them."""

    def __init__(self, channel: PeerChannel) -> None:
        self._channel = channel
        self._answers = asyncio.Queue[Any]()
        self._reports = set[asyncio.Task[None]]()

    def report(self, text: str) -> None:
        task = asyncio.create_task(self._channel.send({"progress": text}))
        self._reports.add(task)
        task.add_done_callback(self._reported)

    def _reported(self, task: asyncio.Task[None]) -> None:
        self._reports.discard(task)
        if not task.cancelled():
            task.exception()  # a channel that closed is seen by whoever receives

    async def ask(self, asked: Mapping[str, Any]) -> Any:
        await self._channel.send({"ask": asked})
        return await self._answers.get()

    async def take_answers(self) -> None:
        """Take answers until the other daemon leaves."""
        with suppress(PeerAway):
            while True:
                said = await self._channel.receive()
                self._answers.put_nowait(said.get("answer"))


async def _tell_all(hosted: HostedServer, channel: PeerChannel) -> None:
    async for listed in hosted.follow():
        said = {"protocol": hosted.protocol, "tools": [*listed.tools], "ttl": float(listed.ttl)}
        await channel.send(said)


async def _wait_until_closed(channel: PeerChannel) -> None:
    with suppress(PeerAway):
        await channel.receive()


async def _first_of(*tasks: asyncio.Task[Any]) -> None:
    """Wait until one task is done, then end the others."""
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
