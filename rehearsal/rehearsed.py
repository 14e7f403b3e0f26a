"""What of the world is rehearsed, as one value: `daemon` is handed it, and mounts it on its own port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from rehearsal.claude.understudy import ClaudeUnderstudy
from rehearsal.local_slack import LocalSlack
from rehearsal.people import SOUL
from rehearsal.timekeeping import RehearsalClock
from rehearsal.tour import GuidedTour


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalServers:
    """Slack, in the store at the path `slack`, and Claude: each as far as it is asked for.

    `name` tells the soul's, which may change.
    """

    clock: RehearsalClock
    slack: Path | None
    claude: bool
    name: Callable[[], str] = lambda: SOUL.name
    bot_token: str = SOUL.bot_token
    app_token: str = SOUL.app_token

    @asynccontextmanager
    async def mounted(self, app: web.Application) -> AsyncIterator[None]:
        """While inside, this application's server plays them. Raises OSError if the store cannot be used."""
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
