"""A TCP proxy before a server: cut, slow, or cut after an answer was lost.

It has a loop and a thread of its own, so whoever waits for the server may block.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

CHUNK = 65_536


class TcpProxy:
    """Proxy before the server of a URL; `url` leads through it. May be changed from any thread."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._passing = asyncio.Event()
        self._links: set[ProxiedLink] = set()
        self._refusing = False
        self.delay = 0.0
        """Seconds that each piece takes in each direction."""
        self.answers = 0
        """Pieces that came from the server."""
        self._fatal: bytes | None = None
        self.lost = threading.Event()
        """Set when an answer was lost."""

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        host, port = self._server.sockets[0].getsockname()
        user = f"{self._parts.netloc.rpartition('@')[0]}@" if "@" in self._parts.netloc else ""
        self.url = urlunsplit(self._parts._replace(netloc=f"{user}{host}:{port}"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """Let nothing through, in old and new connections; neither side is told."""
        self._loop.call_soon_threadsafe(self._passing.clear)

    def refuse(self) -> None:
        """Reset all connections, and each new one."""
        self._loop.call_soon_threadsafe(self._refuse)

    def strand(self) -> None:
        """Let nothing through in the connections of now, ever; new ones are not affected."""
        self._loop.call_soon_threadsafe(self._strand)

    def mend(self) -> None:
        """Let everything through again, also what came meanwhile."""
        self._loop.call_soon_threadsafe(self._mend)

    def lose_answer(self, to: bytes) -> None:
        """Reset the connection of the next request that contains `to` once the server has answered it."""
        self.lost.clear()
        self._fatal = to

    def is_fatal(self, request: bytes) -> bool:
        if self._fatal is None or self._fatal not in request:
            return False
        self._fatal = None
        return True

    async def pass_on(self) -> None:
        """Wait until a piece may go on."""
        if self.delay:
            await asyncio.sleep(self.delay)
        await self._passing.wait()

    async def _listen(self) -> asyncio.Server:
        self._passing.set()
        return await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = ProxiedLink(self, writer)
        self._links.add(link)
        try:
            with suppress(asyncio.CancelledError):  # the proxy's end
                if not self._refusing:
                    await self._passing.wait()
                    await link.run(reader, self._parts.hostname or "", self._parts.port or 5432)
        finally:
            link.reset()
            self._links.discard(link)

    def _refuse(self) -> None:
        self._refusing = True
        for link in self._links:
            link.reset()

    def _strand(self) -> None:
        for link in self._links:
            link.is_stranded = True

    def _mend(self) -> None:
        self._refusing = False
        self._passing.set()

    async def _close(self) -> None:
        self._server.close()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:  # some may only begin
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)


class ProxiedLink:
    """A connection through the proxy."""

    def __init__(self, proxy: TcpProxy, client: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._ends = [client]
        self._dooms_answer = False
        self.is_stranded = False

    async def run(self, client: asyncio.StreamReader, host: str, port: int) -> None:
        """Copy in both directions until one side ends."""
        with suppress(OSError):
            server, to_server = await asyncio.open_connection(host, port)
            self._ends.append(to_server)
            ways = [
                asyncio.create_task(self._copy(client, to_server, is_request=True)),
                asyncio.create_task(self._copy(server, self._ends[0], is_request=False)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                await self._proxy.pass_on()  # where nothing passes, no end does
                if self.is_stranded:
                    await asyncio.get_running_loop().create_future()
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)

    async def _copy(
        self, source: asyncio.StreamReader, to: asyncio.StreamWriter, *, is_request: bool
    ) -> None:
        while piece := await source.read(CHUNK):
            if is_request:
                self._dooms_answer = self._dooms_answer or self._proxy.is_fatal(piece)
            elif self._dooms_answer:
                self._proxy.lost.set()
                return
            await self._proxy.pass_on()
            if self.is_stranded:
                continue
            to.write(piece)
            await to.drain()
            self._proxy.answers += not is_request

    def reset(self) -> None:
        for end in self._ends:
            end.transport.abort()
