"""What of the world is rehearsed, as one value: `daemon` is handed it, and mounts it on its own port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from rehearsal.claude.understudy import Understudy
from rehearsal.local_slack import World
from rehearsal.people import SOUL
from rehearsal.timekeeping import Clock
from rehearsal.tour import Tour


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """Slack, in the store at the path `slack`, and Claude: each as far as it is asked for.

    `name` tells the soul's, which may change.
    """

    clock: Clock
    slack: Path | None
    claude: bool
    name: Callable[[], str] = lambda: SOUL.name
    bot_token: str = SOUL.bot_token
    app_token: str = SOUL.app_token

    @asynccontextmanager
    async def mounted(self, app: web.Application) -> AsyncIterator[None]:
        """While inside, this application's server plays them. Raises OSError if the store cannot be used."""
        if self.claude:
            Understudy(self.clock).mount(app)
        if self.slack is None:
            yield
            return
        async with World(self.slack, self.clock, self.name) as world:
            world.mount(app)
            if self.claude:
                Tour(world.workspace).mount(app.router)
            yield
