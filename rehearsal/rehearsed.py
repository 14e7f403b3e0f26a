"""The rehearsed services as one value, mounted on the port of the daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from rehearsal.cafe import RehearsedToolServer
from rehearsal.claude.understudy import ClaudeUnderstudy
from rehearsal.local_slack import LocalSlack
from rehearsal.people import SOUL
from rehearsal.timekeeping import RehearsalClock
from rehearsal.tour import GuidedTour


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalServers:
    """Rehearsed Slack (stored at path `slack`, unless None) and Claude.

    `name` returns the soul's current name. `tools` are servers of tools in this process.
    """

    clock: RehearsalClock
    slack: Path | None
    claude: bool
    name: Callable[[], str] = lambda: SOUL.name
    bot_token: str = SOUL.bot_token
    app_token: str = SOUL.app_token
    tools: Sequence[RehearsedToolServer] = ()

    @asynccontextmanager
    async def mounted(self, app: web.Application) -> AsyncIterator[None]:
        """Serve them by this application. Raises OSError for an unusable store."""
        if self.claude:
            ClaudeUnderstudy(self.clock).mount(app)
        if self.slack is None:
            yield
            return
        async with LocalSlack(self.slack, self.clock, self.name) as world:
            world.mount(app)
            if self.claude:
                GuidedTour(world.workspace).mount(app.router)
            yield
