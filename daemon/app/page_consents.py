"""Consents to tool servers that an owner begins on the page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any

from daemon.console.access import CALLBACK
from daemon.console.overview import PressRefusal
from daemon.settings.mcp_configuration import ToolServersConfiguration
from daemon.settings.private_files import PrivateFiles

NO_SERVER = PressRefusal(status=404, why="mcp.json has no such server with an address.")
NO_ADDRESS = PressRefusal(status=504, why="The server did not say in time where to consent: press again.")
BEGUN_ANEW = PressRefusal(status=409, why="Another press began this consent anew: consent there.")

LONGEST_WAIT = 20.0
"""Seconds until a server has to say where to consent."""


class PageConsents:
    """Flows in the background; each ends when its owner has consented, or by its own time limit.

    `page` is the page's address for browsers, `files` keep the tokens.
    """

    def __init__(
        self,
        configuration: ToolServersConfiguration,
        files: PrivateFiles,
        page: str,
        now: Callable[[], float],
    ) -> None:
        self._configuration = configuration
        self._files = files
        self._page = page
        self._now = now
        self._flows: dict[str, asyncio.Task[str]] = {}

    async def begin(self, server: str) -> str | PressRefusal:
        """Return the address at which to consent; an older flow of the server ends."""
        settings = self._configuration.current.servers.get(server)
        if settings is None or not settings.url:
            return NO_SERVER
        consent: Any = await asyncio.to_thread(import_module, "daemon.tools.consent")
        older = self._flows.pop(server, None)
        if older:
            older.cancel()
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def show(url: str) -> None:
            address.set_result(url)

        async def flow() -> str:
            try:
                await consent.give_consent(settings, self._files, f"{self._page}{CALLBACK}", show, self._now)
            except consent.RequestFault as failed:
                return str(failed.fault.sentence)
            return ""

        self._flows[server] = running = asyncio.create_task(flow(), name=f"consent to {server}")
        done, _ = await asyncio.wait(
            [running, address], timeout=LONGEST_WAIT, return_when=asyncio.FIRST_COMPLETED
        )
        if address in done:
            return address.result()
        if running.cancelled():
            return BEGUN_ANEW
        if running in done:
            return PressRefusal(status=502, why=running.result())
        running.cancel()
        return NO_ADDRESS

    async def close(self) -> None:
        """End all flows."""
        flows = [*self._flows.values()]
        for flow in flows:
            flow.cancel()
        await asyncio.gather(*flows, return_exceptions=True)
