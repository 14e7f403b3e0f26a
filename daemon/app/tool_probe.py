"""Start of the configured tool servers for a look at their states and tools, without the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from config import Settings
from daemon.app.discovery import load_connections
from daemon.app.tool_services import make_connection_means
from daemon.app.tool_status import state_line
from daemon.engine.clock import Clock
from daemon.settings.mcp_servers import ToolServerSettings, ToolServersFile
from daemon.tools.connected_servers import ConnectedServers
from daemon.tools.tool_call import ServerState
from daemon.tools.tool_catalogue import OfferedTool, read_rules, rules_as_json
from daemon.tools.tool_definitions import read_tool_list

LOOK = 0.05
"""Seconds between two looks at the states of starting servers."""

GRACE = 5.0
"""Seconds for the import of the SDK and the end of a start, beyond the limit of the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProbe:
    """State of a server after its start, its tools, and the reasons for which others are left out."""

    state: ServerState
    tools: Sequence[OfferedTool] = ()
    left_out: Mapping[str, str]

    @property
    def is_ready(self) -> bool:
        return self.state.state == "ready"

    @property
    def line(self) -> str:
        """State in one line: protocol and number of tools, or what is wrong."""
        found = ["1 tool" if len(self.tools) == 1 else f"{len(self.tools):,} tools"]
        if self.left_out:
            found.append(f"{len(self.left_out):,} more cannot be offered")
        return state_line(self.state, *found)


class _StillConfiguration:
    """A configuration that never changes."""

    def __init__(self, file: ToolServersFile) -> None:
        self.current = file
        self.changed = asyncio.Event()


class _ListKeeper:
    """Recorder that keeps the lists in memory."""

    def __init__(self) -> None:
        self.lists: dict[str, Sequence[Mapping[str, Any]]] = {}

    async def record_list(
        self, settings: ToolServerSettings, protocol: str, raw: Sequence[Mapping[str, Any]]
    ) -> None:
        self.lists[settings.name] = raw

    async def record_settings(self, servers: Mapping[str, ToolServerSettings]) -> None: ...


async def probe_servers(settings: Settings, file: ToolServersFile, clock: Clock) -> Sequence[ServerProbe]:
    """Start the servers side by side, and end them; works beside a running daemon."""
    if not file.servers:
        return ()
    keeper = _ListKeeper()
    means = make_connection_means(settings)
    servers = ConnectedServers(_StillConfiguration(file), load_connections, keeper, clock, means)
    async with servers:
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE + max(one.start_timeout for one in file.servers.values())):
                while any(servers.state_of(name).state == "starting" for name in file.servers):  # noqa: ASYNC110
                    await asyncio.sleep(LOOK)
        states = [servers.state_of(name) for name in file.servers]
    return [_probe(file.servers[state.name], state, keeper.lists.get(state.name, ())) for state in states]


def _probe(settings: ToolServerSettings, state: ServerState, raw: Sequence[Mapping[str, Any]]) -> ServerProbe:
    listing = read_tool_list(settings, raw)
    rules = read_rules(rules_as_json(settings))
    tools = [OfferedTool(server=settings.name, tool=tool, rules=rules, seq=0) for tool in listing.tools]
    return ServerProbe(state=state, tools=tools, left_out=listing.left_out)
