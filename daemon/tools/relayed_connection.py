"""Connection to a tool server that another daemon runs; a channel for each call, and one to follow it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.connection import ConnectionEnd, ConnectionFailed, RawToolList
from daemon.tools.tool_call import (
    AskNow,
    InputNeeded,
    StateExpired,
    ToolCallFailed,
    ToolOutcomeUnknown,
    ToolRequest,
    ToolResult,
)
from daemon.web.peer_channel import ChannelOpener, PeerAway, PeerChannel

FAILURES: Mapping[str, type[Exception]] = {
    kind.recorded_name: kind for kind in (ToolCallFailed, StateExpired, ToolOutcomeUnknown)
}


@asynccontextmanager
async def open_relayed(
    settings: ToolServerSettings, open_channel: ChannelOpener, changed: Callable[[], None]
) -> AsyncIterator[RelayedConnection]:
    """Follow a server of another daemon in the block. Raises ConnectionFailed."""
    try:
        async with open_channel() as channel:
            await channel.send({"follow": settings.name})
            connection = RelayedConnection(settings.name, open_channel, await channel.receive())
            following = asyncio.create_task(connection.follow(channel, changed))
            try:
                yield connection
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
    except PeerAway as away:
        raise ConnectionFailed(str(away)) from away


class RelayedConnection:
    """A server of another daemon. `said` is its state: protocol and tools, or why it is away."""

    def __init__(self, server: str, open_channel: ChannelOpener, said: Mapping[str, Any]) -> None:
        self._server = server
        self._open_channel = open_channel
        self._end = ConnectionEnd()
        self._take(said)

    @property
    def protocol(self) -> str:
        return self._protocol

    async def list_tools(self) -> RawToolList:
        return self._listed

    async def follow(self, channel: PeerChannel, changed: Callable[[], None]) -> None:
        """Take each new list until the server or its daemon is away."""
        try:
            while True:
                self._take(await channel.receive())
                changed()
        except (ConnectionFailed, PeerAway) as error:
            self._end.mark(str(error))

    def _take(self, said: Mapping[str, Any]) -> None:
        match said:
            case {"protocol": str(protocol), "tools": list(tools), "ttl": float(ttl)}:
                self._protocol = protocol
                self._listed = RawToolList(tools=tools, ttl=ttl)
            case {"away": str(why)}:
                raise ConnectionFailed(why)
            case _:
                raise ConnectionFailed("The daemon that runs it answered with what is no list of tools.")

    async def wait_until_lost(self) -> str:
        return await self._end.wait()

    async def call(
        self, request: ToolRequest, progress: Callable[[str], None], ask: AskNow | None
    ) -> ToolResult | InputNeeded:
        """Call a tool once: what was sent is never sent again, since it may have been carried out."""
        message = {"call": asdict(request), "asks": ask is not None}
        is_sent = False
        try:
            async with self._open_channel() as channel:
                is_sent = True
                await channel.send(message)
                return await self._result(channel, progress, ask)
        except PeerAway as away:
            if is_sent:
                raise ToolOutcomeUnknown(f"The daemon that runs {self._server} was lost. {away}") from away
            raise ToolCallFailed(f"{self._server} is away, so nothing was called. {away}") from away

    async def _result(
        self, channel: PeerChannel, progress: Callable[[str], None], ask: AskNow | None
    ) -> ToolResult | InputNeeded:
        while True:
            said = await channel.receive()
            match said:
                case {"progress": str(text)}:
                    progress(text)
                case {"ask": Mapping() as asked} if ask:
                    answer = ask(asked)
                    await channel.send({"answer": await answer if inspect.isawaitable(answer) else answer})
                case {"needed": {"requests": Mapping() as requests, "state": state}}:
                    return InputNeeded(requests=requests, state=state)
                case _:
                    return _read_result(said)

    async def read_resource(self, uri: str) -> ToolResult:
        try:
            async with self._open_channel() as channel:
                await channel.send({"read": uri, "server": self._server})
                return _read_result(await channel.receive())
        except (PeerAway, ToolOutcomeUnknown) as error:
            raise ToolCallFailed(f"{self._server} is away. {error}") from error


def _read_result(said: Mapping[str, Any]) -> ToolResult:
    match said:
        case {"result": {"text": str(text), "is_error": bool(is_error), "links": list(links)}}:
            return ToolResult(text=text, is_error=is_error, links=tuple(links))
        case {"failed": str(kind), "text": str(text)} if kind in FAILURES:
            raise FAILURES[kind](text)
    raise ToolOutcomeUnknown("The daemon that runs the server answered with what is no result.")
