"""Connected servers for tests: raw ones, with their settings."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daemon.app.discovery import load_connections
from daemon.engine.clock import Clock, SystemClock
from daemon.settings.mcp_servers import ToolServerSettings, ToolServersFile
from daemon.tools.connected_servers import ConnectedServers
from daemon.tools.connection import ConnectionMeans
from daemon.tools.tool_call import AskNow, InputNeeded, ToolRequest, ToolResult
from tests.clock import FakeClock

RAW = Path(__file__).parent / "servers" / "raw_server.py"


def raw_server(*args: str, name: str = "raw", **more: Any) -> ToolServerSettings:
    return ToolServerSettings(
        name=name, command=sys.executable, args=("-I", "-S", "-B", str(RAW), *args), **more
    )


class ChangingConfiguration:
    """A configuration that tests change."""

    def __init__(self, *servers: ToolServerSettings) -> None:
        self.changed = asyncio.Event()
        self.change(*servers)

    def change(self, *servers: ToolServerSettings) -> None:
        self.current = ToolServersFile(servers={one.name: one for one in servers})
        event, self.changed = self.changed, asyncio.Event()
        event.set()


RecordedList = tuple[ToolServerSettings, str, Sequence[Mapping[str, Any]]]


class ListRecorder:
    """Recorder that keeps what it gets."""

    def __init__(self) -> None:
        self.lists: list[RecordedList] = []

    async def record_list(
        self, settings: ToolServerSettings, protocol: str, raw: Sequence[Mapping[str, Any]]
    ) -> None:
        self.lists.append((settings, protocol, raw))

    async def record_settings(self, servers: Mapping[str, ToolServerSettings]) -> None: ...


@dataclass(kw_only=True)
class ServerBench:
    """Connected servers, and the lists that they recorded."""

    configuration: ChangingConfiguration
    servers: ConnectedServers
    folder: Path
    lists: list[RecordedList]
    progress: list[str] = field(default_factory=list)

    async def until(self, name: str, state: str) -> None:
        await wait_for(lambda: self.servers.state_of(name).state == state)

    async def call(
        self, tool: str, text: str = "", *, server: str = "raw", ask: AskNow | None = None, **more: Any
    ) -> ToolResult | InputNeeded:
        request = ToolRequest(server=server, tool=tool, arguments={"text": text}, **more)
        return await self.servers.call(request, self.progress.append, ask)

    async def lists_grow_to(self, count: int, clock: FakeClock) -> None:
        """Let time pass until so many lists are recorded."""
        async with asyncio.timeout(20):
            while len(self.lists) < count:
                await clock.advance(1)
                await asyncio.sleep(0.001)

    async def passes_until(self, name: str, state: str, clock: FakeClock) -> None:
        """Let time pass until a server is in a state."""
        async with asyncio.timeout(20):
            while self.servers.state_of(name).state != state:
                await clock.advance(1)
                await asyncio.sleep(0.001)

    def running(self) -> list[int]:
        """Return the pids of recorded servers."""
        return [int(path.name.split(".")[1]) for path in self.folder.glob("*.running")]

    def log(self, server: str) -> str:
        return (self.folder / f"{server}.log").read_text()

    async def text(self, tool: str, text: str = "", *, server: str = "raw") -> str:
        result = await self.call(tool, text, server=server)
        assert isinstance(result, ToolResult)
        return result.text


@asynccontextmanager
async def connected(
    folder: Path, *settings: ToolServerSettings, clock: Clock | None = None, secrets: Sequence[str] = ()
) -> AsyncIterator[ServerBench]:
    recorder = ListRecorder()
    configuration = ChangingConfiguration(*settings)
    means = ConnectionMeans(folder=folder / "tools", secrets=secrets)
    servers = ConnectedServers(configuration, load_connections, recorder, clock or SystemClock(), means)
    async with servers:
        yield ServerBench(
            configuration=configuration, servers=servers, folder=means.folder, lists=recorder.lists
        )


def is_running(pid: int) -> bool:
    """True for a process that is neither gone nor a zombie."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


async def wait_for(there: Callable[[], object]) -> None:
    """Wait for what other processes do, which no event of this loop tells."""
    async with asyncio.timeout(20):
        while not there():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def has_heard(heard: Path, text: str) -> bool:
    """True if the server has heard a text."""
    return heard.exists() and text in heard.read_text()
