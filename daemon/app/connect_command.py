"""The command `connect`: consent to a server's OAuth in a browser, beside a running daemon or without one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

from aiohttp import web

from config import Settings
from daemon.app.command_files import open_private_files
from daemon.app.tool_configuration import read_tool_servers
from daemon.console.access import CALLBACK
from daemon.console.consent_callback import mount_consent_callback
from daemon.console.server import bind, serve_app, url_of_socket
from daemon.engine.clock import Clock
from daemon.engine.journal.journal_file import lock_holder
from daemon.settings.home import create_home, project_root
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.settings.parse import ConfigError
from daemon.settings.private_files import PrivateFiles
from daemon.tools.consent import give_consent
from daemon.tools.consent_answers import ConsentAnswers
from daemon.tools.http_faults import RequestFault

OPEN_THIS = "Open this address in a browser, and consent there:"
PASTE = "If the browser runs on another machine, paste here the address at which it ends:"
NOT_IT = "This is not the address at which the browser ended: it holds `code` and `state`."
CONNECTED = "{server} is connected. Its tokens are in {place}, and a running daemon uses them at once."


def server_to_connect(settings: Settings, name: str) -> ToolServerSettings:
    """Return the settings of a server with an address. Raises ConfigError."""
    file = read_tool_servers(project_root(), settings.mcp_config)
    server = file.servers.get(name)
    if server is None:
        wrong = [fault for fault in file.faults if fault.startswith(f"{name}:")] or file.faults
        named = ", ".join(file.servers) or "none"
        raise ConfigError("\n".join([f"mcp.json has no usable server {name}; it has: {named}.", *wrong]))
    if not server.url:
        raise ConfigError(f"{name} is a program on this machine, which needs no consent.")
    return server


async def connect_server(settings: Settings, name: str, clock: Clock, *, register: bool = False) -> int:
    """Run the browser flow; return the exit status. Raises ConfigError."""
    server = server_to_connect(settings, name)
    create_home(settings.soul_home)
    async with open_private_files(settings) as files:
        return await _connect(settings, server, files, clock, register=register)


async def _connect(
    settings: Settings, server: ToolServerSettings, files: PrivateFiles, clock: Clock, *, register: bool
) -> int:
    answers = ConsentAnswers(files, clock.now)

    async def show(url: str) -> None:
        print(f"{OPEN_THIS}\n\n  {url}\n", flush=True)
        if sys.stdin.isatty():
            print(PASTE, flush=True)

    try:
        async with _callback_address(settings, answers) as redirect, _pasted_answers(answers):
            await give_consent(server, files, redirect, show, clock.now, register=register)
    except RequestFault as failed:
        print(failed.fault.sentence, file=sys.stderr)
        return 1
    place = "the log's database" if settings.database_url else settings.soul_home
    print(CONNECTED.format(server=server.name, place=place))
    return 0


@asynccontextmanager
async def _callback_address(settings: Settings, answers: ConsentAnswers) -> AsyncIterator[str]:
    """Yield the address of the callback: the running daemon's, or that of a listener in its place."""
    page = settings.console_url.rstrip("/")
    if lock_holder(settings.journal_path):
        yield f"{page or _running_address(settings)}{CALLBACK}"
        return
    with bind(settings.host, settings.port) as listener:
        app = web.Application()
        mount_consent_callback(app, answers.deliver)
        async with serve_app(app, listener):
            yield f"{page or url_of_socket(listener)}{CALLBACK}"


def _running_address(settings: Settings) -> str:
    try:
        return settings.address_path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        raise ConfigError(f"{settings.address_path} cannot be read: start the daemon again.") from None


@asynccontextmanager
async def _pasted_answers(answers: ConsentAnswers) -> AsyncIterator[None]:
    """Take addresses that a person pastes into the terminal, for a browser that cannot reach the port."""
    if not sys.stdin.isatty():
        yield
        return
    loop = asyncio.get_running_loop()

    def take_line() -> None:
        line = sys.stdin.readline()
        if line.strip() and not answers.deliver(_parameters(line)):
            print(NOT_IT, flush=True)
        if not line:  # the end of the input would be read again and again
            loop.remove_reader(sys.stdin)

    loop.add_reader(sys.stdin, take_line)
    try:
        yield
    finally:
        loop.remove_reader(sys.stdin)


def _parameters(line: str) -> Mapping[str, str]:
    try:
        return dict(parse_qsl(urlsplit(line.strip()).query))
    except ValueError:
        return {}
