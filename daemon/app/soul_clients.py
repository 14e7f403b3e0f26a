"""The soul as an MCP server: its tools, made of the daemon's services. The SDK is loaded only if it is on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from aiohttp import web

from config import Settings
from daemon.app.journal_commands import find_thread, trace_lines
from daemon.app.tool_services import secrets_of
from daemon.app.wiring import DaemonServices
from daemon.console.asgi_route import AsgiRoute
from daemon.console.journal_view import JournalPager
from daemon.console.mcp_route import mount_mcp
from daemon.console.overview import PageOverview
from daemon.console.routes import InnerLifePage
from daemon.console.tools_page import ToolsPage
from daemon.engine.journal.journal import BackgroundReader
from daemon.knowledge.search import MessageSearch
from daemon.prompts.elements import parse_labels
from daemon.prompts.prompt_catalogue import SERVED_TEXT
from daemon.sandbox.foreign_output import mask_secrets
from daemon.settings.home import project_root, read_text_file
from daemon.settings.parse import ConfigError
from daemon.settings.token_file import MCP_TOKEN_FILE, TokenFile
from daemon.tools.owner_views import OwnerViews
from daemon.tools.served_calls import ServedCallLog, ServedLimits
from daemon.tools.served_conversations import ServedConversations
from daemon.tools.served_tools import PublicTools, ServedTool, ServedWords

SERVER = "daemon.tools.soul_server"
"""Module that loads the SDK."""

TRACE_WIDTH = 400
"""Most characters of a line of a trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerStatus:
    """Parts of the page that its owner may read by MCP, too."""

    overview: PageOverview
    inner: InnerLifePage
    tools: ToolsPage
    health: Callable[[], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulClients:
    """Access of MCP clients; without a `route` they have none."""

    token: str = ""
    words: ServedWords
    route: AsgiRoute | None = None

    @asynccontextmanager
    async def serving(
        self, settings: Settings, services: DaemonServices, owner: OwnerStatus, wake: Callable[[str], None]
    ) -> AsyncIterator[None]:
        """Answer clients inside the block. The secrets in `settings` reach none of them."""
        if self.route is None:
            yield
            return
        calls = ServedCallLog(
            services.journal,
            services.clock,
            services.budget,
            ServedLimits(calls=settings.mcp_hourly_calls, usd=settings.mcp_daily_usd),
        )
        tools = _public_tools(services, calls, self.words, wake)
        if settings.mcp_server == "all":
            tools = [*tools, *_owner_tools(services, owner, self.words)]
        server = import_module(SERVER).SoulServer(
            services.slack.name, tools, self.words, calls, partial(mask_secrets, secrets=secrets_of(settings))
        )
        async with server.serving():
            self.route.open(server.application)
            try:
                yield
            finally:
                server.begin_close()
                await self.route.close()


async def mount_soul_server(
    settings: Settings, app: web.Application, folder: Path, make_token: Callable[[TokenFile], Awaitable[str]]
) -> SoulClients:
    """Mount the route of MCP clients, if there may be any, and load the SDK; make a missing token.

    Raises ConfigError and JournalError.
    """
    if settings.mcp_server == "off":
        return SoulClients(words=ServedWords(texts={}))
    words = served_words(folder)
    token = settings.mcp_token or await make_token(MCP_TOKEN_FILE)
    try:
        import_module(SERVER)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"MCP_SERVER={settings.mcp_server} needs the package {error.name}, which is not installed here: "
            "`make install`, or set MCP_SERVER=off."
        ) from error
    return SoulClients(token=token, words=words, route=mount_mcp(app, token))


def served_words(folder: Path) -> ServedWords:
    """Return the texts for MCP clients: the owner's, or else the project's. Raises ConfigError."""
    path = folder / f"{SERVED_TEXT}.md"
    if not path.exists():
        path = project_root() / f"{SERVED_TEXT}.md"
    try:
        return ServedWords(texts=parse_labels(read_text_file(path)))
    except ValueError as error:
        raise ConfigError(f"{SERVED_TEXT}: {error}.") from error


def _public_tools(
    services: DaemonServices, calls: ServedCallLog, words: ServedWords, wake: Callable[[str], None]
) -> Sequence[ServedTool]:
    slack, journal = services.slack, services.journal
    tools = PublicTools(
        conversations=ServedConversations(journal, services.clock, services.served, lambda: slack.team, wake),
        memories=MessageSearch(journal, slack.places, services.index, slack.name),
        team=lambda: slack.team,
        calls=calls,
        words=words,
    )
    return tools.make_tools()


def _owner_tools(services: DaemonServices, owner: OwnerStatus, words: ServedWords) -> Sequence[ServedTool]:
    journal = services.journal

    async def trace(asked: str) -> str:
        def read(reader: BackgroundReader) -> str:
            return "\n".join(trace_lines(reader, find_thread(reader, asked), TRACE_WIDTH))

        return await journal.read_in_background(read)

    views = OwnerViews(
        overview=owner.overview,
        inner=owner.inner,
        tools=owner.tools,
        pages=JournalPager(journal),
        trace=trace,
        health=owner.health,
        words=words,
    )
    return views.make_tools()
