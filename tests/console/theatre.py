"""A daemon in the test's process, whose model the test controls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from config import Settings
from daemon.app.daemon import RunningDaemon, start_daemon
from daemon.engine.clock import SystemClock
from daemon.ports import Open
from daemon.settings.home import project_root
from daemon.turn.turn import Process
from rehearsal.cafe import RehearsedToolServer, rehearsed_cafe
from rehearsal.claude.understudy import ClaudeUnderstudy
from rehearsal.local_slack import LocalSlack
from rehearsal.people import SOUL
from rehearsal.tour import FILES, OWNER, SAMPLES, GuidedTour
from tests.signed_in import known_in


@dataclass(frozen=True, kw_only=True)
class Theatre:
    store: Path
    model: ClaudeUnderstudy
    toured: bool = False
    bot_token: str = SOUL.bot_token
    app_token: str = SOUL.app_token
    tools: Sequence[RehearsedToolServer] = ()

    @asynccontextmanager
    async def mounted(self, app: web.Application) -> AsyncIterator[None]:
        """Serve Slack and Claude in this application."""
        self.model.mount(app)
        async with LocalSlack(self.store, SystemClock()) as world:
            world.mount(app)
            if self.toured:
                GuidedTour(world.workspace).mount(app.router)
            yield


@asynccontextmanager
async def theatre(
    home: Path,
    processes: Mapping[str, Process] | None = None,
    sandbox: Open | None = None,
    samples: Path | None = None,
    words: Path | None = None,
    **settings: Any,
) -> AsyncIterator[tuple[RunningDaemon, ClaudeUnderstudy]]:
    """Run the daemon without keys; yield it and its model.

    `samples`, a folder of actions, enables the tour; `words` is the folder of the owner's texts.
    """
    known_in(home)
    clock = SystemClock()
    model = ClaudeUnderstudy(clock, pace=0)
    toured = samples is not None
    tools = [rehearsed_cafe()] if toured else []
    rehearsal = Theatre(store=home / "rehearsal.db", model=model, toured=toured, tools=tools)
    start = start_daemon(
        Settings(port=0, soul_home=home, **settings),
        clock,
        words,
        grace=0.2,
        rehearsal=rehearsal,
        samples=samples,
        processes=processes,
        sandbox=sandbox,
    )
    async with start as soul:
        yield soul, model


@asynccontextmanager
async def premiere(home: Path) -> AsyncIterator[str]:
    """Run `python -m daemon` without a key, with immediate answers; yield its page."""
    async with theatre(
        home,
        samples=project_root() / SAMPLES,
        ism_enabled=True,
        knowledge_dirs=(project_root() / FILES,),
        owner_user_ids=frozenset({OWNER}),
    ) as (soul, _):
        yield soul.url
