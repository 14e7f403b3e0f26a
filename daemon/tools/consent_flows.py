"""Consents that people give from the page: one flow a server, in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.consent import give_consent
from daemon.tools.http_faults import RequestFault, not_done


class ConsentFlows:
    """Flows that wait for people, ended with the block.

    `redirect` is the address of the callback, `home` keeps the tokens; `now` returns Unix seconds.
    """

    def __init__(self, home: Path, redirect: str, now: Callable[[], float]) -> None:
        self._home = home
        self._redirect = redirect
        self._now = now
        self._flows: dict[str, asyncio.Task[None]] = {}
        self._faults: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for flow in self._flows.values():
            flow.cancel()
        await asyncio.gather(*self._flows.values(), return_exceptions=True)

    async def begin(self, settings: ToolServerSettings) -> str:
        """Begin a flow in place of an older one; return the address at which to consent.

        Raises RequestFault.
        """
        name = settings.name
        shown: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def show(url: str) -> None:
            shown.set_result(url)

        if name in self._flows:
            self._flows[name].cancel()
        self._faults.pop(name, None)
        flow = self._flows[name] = asyncio.create_task(self._run(settings, show), name=f"consent {name}")
        ends: Sequence[asyncio.Future[Any]] = [flow, shown]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if shown.done():
            return shown.result()
        raise RequestFault(not_done(self.fault_of(name) or f"{name} asks for no consent."))

    async def _run(self, settings: ToolServerSettings, show: Callable[[str], Awaitable[None]]) -> None:
        try:
            await give_consent(settings, self._home, self._redirect, show, self._now)
        except RequestFault as failed:
            self._faults[settings.name] = failed.fault.sentence

    def is_waiting(self, server: str) -> bool:
        return server in self._flows and not self._flows[server].done()

    def fault_of(self, server: str) -> str:
        """Return the sentence of the last flow, if it failed; else empty."""
        return self._faults.get(server, "")
