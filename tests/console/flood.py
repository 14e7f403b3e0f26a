"""A server with few connections, and strangers who take them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import ClientSession, CookieJar, TCPConnector, web

from daemon.console.access import PageCredentials, install_guard, mount_sessions
from daemon.console.routes import ConsoleSetup, mount_console
from daemon.console.server import CONNECTIONS, ConnectionLimit, bind, serve_app, url_of_socket
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS
from tests.clock import FakeClock
from tests.console.site import link, rebuild

TOKEN = "open sesame, and be quick"
OWNER = {"X-Console-Token": TOKEN}
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(kw_only=True)
class House:
    """Console behind its real connection limit. `ends`: the strangers' sockets."""

    url: str
    port: int
    crowd: ConnectionLimit
    journal: Journal
    http: ClientSession
    ends: list[Ends] = field(default_factory=list)

    async def flood(self, count: int, says: bytes = b"", host: str = "127.0.0.1") -> None:
        for _ in range(count):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(host, 0))
            self.ends.append((reader, writer))
            writer.write(says)

    async def alive(self, first: int | None = None) -> int:
        return sum([not await _is_over(reader) for reader, _ in self.ends[:first]])

    async def status(self, path: str, **headers: str) -> int:
        alone = TCPConnector(force_close=True)
        async with (
            ClientSession(connector=alone) as session,
            session.get(self.url + path, headers=headers) as answer,
        ):
            await answer.read()
            return answer.status


async def _silence(_: web.Request) -> web.Response:
    await asyncio.Event().wait()
    return web.Response()


async def _is_over(reader: asyncio.StreamReader) -> bool:
    try:
        async with asyncio.timeout(0.01):
            while await reader.read(65_536):
                pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


@asynccontextmanager
async def house(
    path: Path, *, most: int = 16, idle: float = 30.0, token: str = TOKEN, open_world: bool = False
) -> AsyncIterator[House]:
    """Serve a limited number of connections, with a silent stream of the world."""
    clock = FakeClock()
    async with Journal(path / "journal.db", clock, SOUL_KINDS) as journal:
        app = web.Application()
        credentials = PageCredentials.open_home(path, token, clock.now)
        install_guard(app, host="127.0.0.1", clock=clock, credentials=credentials, world_is_open=open_world)
        mount_sessions(app, credentials)
        state = {"name": "Claudius"}
        mount_console(
            app,
            ConsoleSetup(journal=journal, rebuild=rebuild, state=lambda: state, health=lambda: {"ok": True}),
        )
        app.router.add_get("/link/", link)
        app.router.add_get("/rehearsal/events", _silence)
        listener = bind("127.0.0.1", 0)
        url = url_of_socket(listener)
        async with (
            serve_app(app, listener, most=most, idle=idle),
            ClientSession(cookie_jar=CookieJar()) as http,
        ):
            here = House(
                url=url, port=int(url.rpartition(":")[2]), crowd=app[CONNECTIONS], journal=journal, http=http
            )
            try:
                yield here
            finally:
                for _, writer in here.ends:
                    writer.close()
