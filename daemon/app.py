"""The wiring: which value goes to whom, on one screen. `__main__` calls `run` or `rehearse`."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from config import Settings
from daemon.behaviour import blueprint, processes_of, world_of
from daemon.clock import SystemClock
from daemon.connections import access_for, allowed_by, claude_for, models_of
from daemon.console.guard import protect
from daemon.console.server import mount
from daemon.introduction import introduce
from daemon.journal.journal import Journal
from daemon.journal.writer import Writer
from daemon.life.budget import Budget
from daemon.life.live import Life
from daemon.life.reach import Reach
from daemon.life.suspects import wake_up
from daemon.life.texts import Texts
from daemon.life.waker import AsyncioWaker
from daemon.lifetime import live
from daemon.ports import Clock
from daemon.process import Process
from daemon.project import root, settle
from daemon.rehearsal.claude.understudy import Understudy
from daemon.rehearsal.people import SOUL
from daemon.rehearsal.world import World as RehearsedSlack
from daemon.server import BODY, address, bind, roomy, serving
from daemon.slack.surface import Slack
from daemon.view import console, metrics

GRACE = 10.0
"""Seconds that running turns get when the daemon is told to stop."""


async def rehearse(settings: Settings) -> None:
    """A local Slack (/api/) and a local Claude (/v1/), until cancelled."""
    settle(settings.soul_home)
    clock = SystemClock()
    app = _application(settings, clock)
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(bind(settings.host, settings.port))
        await _rehearsed_slack(stack, app, settings, clock)
        Understudy(clock).mount(app)
        here = address(listener)
        await stack.enter_async_context(serving(app, listener, most=roomy()))
        print(f"workspace  SLACK_API_URL={here}/api/")
        print(f"           SLACK_BOT_TOKEN={SOUL.bot_token}  SLACK_APP_TOKEN={SOUL.app_token}")
        print(f"model      ANTHROPIC_BASE_URL={here}")
        print(f"ready  {here}", flush=True)
        await asyncio.Event().wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Awake:
    """A daemon that listens: what its owner, and a test, may look at."""

    url: str
    journal: Journal
    slack: Slack
    budget: Budget
    waker: AsyncioWaker


async def run(settings: Settings) -> None:
    """The daemon, until cancelled. Raises ConfigError and JournalError."""
    async with awake(settings, SystemClock()) as soul:
        gc.freeze()  # what is there by now stays for good: the collector need not go through it again
        introduce(settings, soul.slack.name, soul.budget, soul.url)
        await live(soul.waker, soul.journal, soul.slack.died)


@asynccontextmanager
async def awake(
    settings: Settings,
    clock: Clock,
    words: Path | None = None,
    grace: float = GRACE,
    *,
    processes: Mapping[str, Process] | None = None,
    writer: type[Writer] = Writer,
) -> AsyncIterator[Awake]:
    """While inside, the soul hears and answers; on leaving, running turns get `grace` seconds to end.

    `words` is the folder of the owner's texts; without `processes`, they are those that the settings ask for.
    """
    settle(settings.soul_home)
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        listener = stack.enter_context(bind(settings.host, settings.port))
        here, app = address(listener), _application(settings, clock)
        await _rehearsed(stack, app, settings, clock)
        journal = await enter(Journal(settings.journal_path, clock, writer))
        texts = Texts(words or root(), journal)
        claude = await enter(claude_for(settings, clock, here))
        budget = Budget(journal, clock, settings.budget_daily_usd, settings.owner_user_ids)
        reach = Reach(journal, clock, models_of(settings))
        slack = _slack(settings, here, journal, clock, lambda thread: waker.wake(thread))
        mount(app, console(settings, journal, texts, budget, slack, reach))
        metrics(journal, slack, reach).mount(app)
        await enter(serving(app, listener, most=roomy()))
        await enter(slack)
        suspects = await wake_up(journal, clock)
        world = world_of(
            settings,
            journal,
            clock,
            budget,
            reach,
            suspects.life,
            llm=claude,
            speaker=slack.speaker,
            here=here,
        )
        found = processes or processes_of(settings, stack.enter_context(ExitStack()), journal, texts)
        life = Life(world, blueprint(settings, texts, found, slack.surroundings))
        waker = AsyncioWaker(journal, clock, life.live, life.notice, suspects, reach.due)
        stack.push_async_callback(waker.drain, grace)
        stack.push_async_callback(slack.stop)
        await slack.connect()
        yield Awake(url=here, journal=journal, slack=slack, budget=budget, waker=waker)


def _slack(
    settings: Settings, here: str, journal: Journal, clock: Clock, wake: Callable[[str], None]
) -> Slack:
    """The workspace; nobody is heard there, and so no thread wakes, before it is told to connect."""
    return Slack(
        access_for(settings, here),
        allowed_by(settings),
        journal=journal,
        wake=wake,
        clock=clock,
        connections=settings.slack_connections,
        max_age=settings.catch_up_max_age,
        owners=settings.owner_user_ids,
    )


def _application(settings: Settings, clock: Clock) -> web.Application:
    app = web.Application(client_max_size=BODY)
    protect(app, host=settings.host, token=settings.console_token, clock=clock)
    return app


async def _rehearsed(stack: AsyncExitStack, app: web.Application, settings: Settings, clock: Clock) -> None:
    """As much of the world as the settings do not name."""
    if settings.slack == "rehearsed":
        await _rehearsed_slack(stack, app, settings, clock)
    if settings.claude == "rehearsed":
        Understudy(clock).mount(app)


async def _rehearsed_slack(
    stack: AsyncExitStack, app: web.Application, settings: Settings, clock: Clock
) -> None:
    world = await stack.enter_async_context(RehearsedSlack(settings.rehearsal_path, clock))
    world.mount(app)
