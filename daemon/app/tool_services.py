"""Construction of the tools of MCP servers: configuration, recorded lists, connections, offers and calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

from config import Settings
from daemon.app.discovery import load_connections
from daemon.app.machines import PlaceServers
from daemon.app.page_consents import PageConsents
from daemon.app.rehearsed_tools import RehearsedServers, RehearsedTools
from daemon.app.tool_configuration import make_tool_configuration
from daemon.engine.clock import Clock
from daemon.engine.journal.journal import Journal
from daemon.lifetime import in_background
from daemon.settings.home import TOOL_FOLDER
from daemon.settings.mcp_configuration import ToolServersConfiguration
from daemon.settings.private_files import FolderFiles, PrivateFiles
from daemon.slack.surface import SlackSurface
from daemon.tools.connected_servers import ConnectedServers
from daemon.tools.connection import ConnectionMeans, ServerOpener
from daemon.tools.elicitation import ToolQuestions
from daemon.tools.linked_resources import resource_action
from daemon.tools.mcp_tools import make_tool_action
from daemon.tools.tool_approvals import ToolApprovals
from daemon.tools.tool_call import ToolServers
from daemon.tools.tool_calls import ToolMeans
from daemon.tools.tool_catalogue import ToolCatalogue
from daemon.tools.tool_source import RecordedToolSource

LoadServers = Callable[[], Awaitable[ServerOpener]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServices:
    """Configured tool servers, the connections to them, and what they offer to turns."""

    configuration: ToolServersConfiguration
    catalogue: ToolCatalogue
    connected: ConnectedServers
    source: RecordedToolSource
    consents: PageConsents

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Connect the servers in the block, as the configuration says at any time."""
        # Real time: a file changes and a server answers in it.
        async with in_background(self.configuration.watch(asyncio.sleep)), self.connected:
            try:
                yield
            finally:
                await self.consents.close()


def make_tool_services(
    settings: Settings,
    clock: Clock,
    journal: Journal,
    folder: Path,
    slack: SlackSurface,
    here: str,
    servers: ToolServers | None = None,
    rehearsal: RehearsedServers | None = None,
    files: PrivateFiles | None = None,
    place: PlaceServers | None = None,
) -> ToolServices:
    """Return the tools; `folder` holds the owner's texts, and `settings` have all secrets.

    `here` is the daemon's own address. `servers`: called instead of the configured ones. `files` keep tokens;
    `place`: that of several daemons.
    """
    within = RehearsedTools(rehearsal.tools) if rehearsal and rehearsal.tools else None
    add = within.added_to if within else None
    configuration = make_tool_configuration(folder, settings.mcp_config, add)
    catalogue = ToolCatalogue(journal)
    files = files or FolderFiles(settings.soul_home)
    means = replace(make_connection_means(settings), files=files)
    load = placed_loader(within.load if within else load_connections, place)
    connected = ConnectedServers(configuration, load, catalogue, clock, means)
    return ToolServices(
        configuration=configuration,
        catalogue=catalogue,
        connected=connected,
        consents=PageConsents(configuration, files, settings.console_url.rstrip("/") or here, clock.now),
        source=_make_tool_source(configuration, catalogue, slack, servers or connected),
    )


def placed_loader(load: LoadServers, place: PlaceServers | None) -> LoadServers:
    """Return a function that loads the opener of connections, as it is placed on one of several daemons."""
    if place is None:
        return load

    async def load_placed() -> ServerOpener:
        return place(await load())

    return load_placed


def _make_tool_source(
    configuration: ToolServersConfiguration,
    catalogue: ToolCatalogue,
    slack: SlackSurface,
    servers: ToolServers,
) -> RecordedToolSource:
    def url_of(server: str) -> str:
        settings = configuration.current.servers.get(server)
        return settings.url if settings else ""

    approvals = ToolApprovals(catalogue=catalogue, groups=slack)
    questions = ToolQuestions(approvals=approvals, url_of=url_of)
    means = ToolMeans(
        servers=servers,
        catalogue=catalogue,
        approvals=approvals,
        questions=questions,
    )
    return RecordedToolSource(
        catalogue=catalogue,
        make=partial(make_tool_action, means=means),
        make_reader=partial(resource_action, servers),
        people=slack,
        places=slack.places,
    )


def make_connection_means(settings: Settings) -> ConnectionMeans:
    """Return the means of connections; `settings` have all secrets."""
    return ConnectionMeans(
        folder=settings.soul_home / TOOL_FOLDER,
        secrets=secrets_of(settings),
        hidden=key_files(settings),
    )


def key_files(settings: Settings) -> Sequence[Path]:
    """Return files with keys of the owner that have no fixed place."""
    return [settings.mcp_config] if settings.mcp_config else []


def secrets_of(settings: Settings) -> Sequence[str]:
    """Return the daemon's own keys and tokens, to be masked in foreign output."""
    values = [getattr(settings, one.name) for one in fields(settings) if not one.repr]
    return [value for value in values if isinstance(value, str) and value]
