"""Start of the daemon: page first, then turns; and its end."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from config import Settings
from daemon.actions.function import ActionFunction
from daemon.app.open_daemon import OpenDaemon, StartOptions, bind_application, open_daemon
from daemon.app.page_link import page_link
from daemon.app.start_lines import print_start_lines
from daemon.app.wiring import (
    DaemonServices,
    RehearsalMount,
    make_processes,
    make_sandboxes,
    make_supervisor,
    make_turn_dependencies,
    record_start,
)
from daemon.console.access import (
    PageCredentials,
)
from daemon.console.server import connection_limit, serve_app
from daemon.engine.clock import Clock, SystemClock
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.writer import JournalWriter
from daemon.engine.kinds import WorkerStarted
from daemon.engine.worker import Worker
from daemon.knowledge.forgetting import ForgettingService, MessageDeleter
from daemon.lifetime import failing_with, in_background, run_until_failure
from daemon.ports import Open
from daemon.prompts.elements import soul_name_in
from daemon.prompts.prompt_catalogue import SOUL_TEXT
from daemon.settings.home import project_root
from daemon.slack.surface import SlackSurface
from daemon.telemetry.turn_lines import log_ended_turns
from daemon.tools.changed_tools import ToolListWatch
from daemon.tools.tool_call import ToolServers
from daemon.turn.owner_alerts import watch_models
from daemon.turn.prompt_files import draw_tag_suffix
from daemon.turn.soul_program import SoulProgram, watch_long_waits
from daemon.turn.turn import Process, TurnDependencies
from daemon.turn.usage_limits import DailyBudget

log = logging.getLogger(__name__)

GRACE = 10.0
"""Most seconds that running turns get to end at a stop."""


async def run_rehearsal(settings: Settings, rehearsal: RehearsalMount) -> None:
    """Serve a local Slack (`/api/`) and a local Claude (`/v1/`) until cancelled."""
    async with AsyncExitStack() as stack:
        clock, credentials = SystemClock(), None
        if settings.console_token:
            credentials = PageCredentials.open_home(settings.soul_home, settings.console_token, clock.now)
        app, listener, here = await bind_application(stack, settings, clock, rehearsal, credentials)
        await stack.enter_async_context(serve_app(app, listener, most=connection_limit()))
        print(f"workspace  SLACK_API_URL={here}/api/")
        print(f"           SLACK_BOT_TOKEN={rehearsal.bot_token}  SLACK_APP_TOKEN={rehearsal.app_token}")
        print(f"model      ANTHROPIC_BASE_URL={here}")
        print(f"ready  {here}", flush=True)
        await asyncio.Event().wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningDaemon:
    url: str
    credentials: PageCredentials
    services: DaemonServices
    worker: Worker

    @property
    def name(self) -> str:
        return soul_name_in(self.services.texts.current_text(SOUL_TEXT))

    @property
    def journal(self) -> Journal:
        return self.services.journal

    @property
    def slack(self) -> SlackSurface:
        return self.services.slack

    @property
    def budget(self) -> DailyBudget:
        return self.services.budget


async def run_daemon(
    settings: Settings, rehearsal: RehearsalMount | None, samples: Path | None = None
) -> None:
    """Run the daemon until cancelled. Raises ConfigError, JournalError and CountedAsDead."""
    options = StartOptions(rehearsal=rehearsal, samples=samples)
    async with open_daemon(settings, SystemClock(), options) as opened, failing_with(opened.machines.died):
        needs = (opened.services.journal.died, opened.services.slack.died)
        is_first = await opened.machines.works_at_once()
        if not is_first:
            await _announce(opened, is_standing_by=True)
            await _stand_by(opened, *needs)
        async with take_turns(opened):
            gc.freeze()  # imported objects are never garbage
            if is_first:
                await _announce(opened)
            await run_until_failure(*needs)


async def _announce(opened: OpenDaemon, *, is_standing_by: bool = False) -> None:
    services = opened.services
    await services.budget.preload()
    link = await page_link(opened.url, opened.credentials)
    print_start_lines(services.settings, opened.name, services.budget, link, is_standing_by=is_standing_by)


async def _stand_by(opened: OpenDaemon, *needs: asyncio.Future[None]) -> None:
    """Wait until this daemon is to take turns."""
    waiting = asyncio.create_task(opened.machines.wait_for_work())
    try:
        await run_until_failure(*needs, waiting)
    finally:
        waiting.cancel()
    log.warning("Taking over: the daemon that was at work has ended.")


@asynccontextmanager
async def start_daemon(
    settings: Settings,
    clock: Clock,
    folder: Path | None = None,
    grace: float = GRACE,
    *,
    rehearsal: RehearsalMount | None = None,
    samples: Path | None = None,
    processes: Mapping[str, Process] | None = None,
    writer: type[JournalWriter] = JournalWriter,
    sandbox: Open | None = None,
    servers: ToolServers | None = None,
) -> AsyncIterator[RunningDaemon]:
    """Run the soul inside the block; at its end, running turns get `grace` seconds."""
    options = StartOptions(
        folder=folder or project_root(),
        rehearsal=rehearsal,
        samples=samples,
        processes=processes or {},
        writer=writer,
        sandbox=sandbox,
        servers=servers,
    )
    async with open_daemon(settings, clock, options) as opened:
        if not await opened.machines.works_at_once():
            await opened.machines.wait_for_work()
        async with take_turns(opened, grace) as soul:
            yield soul


@asynccontextmanager
async def take_turns(opened: OpenDaemon, grace: float = GRACE) -> AsyncIterator[RunningDaemon]:
    """Receive events and take turns inside the block; at its end, running turns get `grace` seconds."""
    services, options, secret = opened.services, opened.options, opened.secret
    slack = services.slack
    async with AsyncExitStack() as stack:
        opened.machines.begin_work()
        slack.begin()
        world = await _make_dependencies(stack, services, opened.own, options.processes, options.sandbox)
        worker = await _run_worker(stack, opened, world, grace)
        opened.turns.worker = worker
        await _connect(stack, slack, worker.life)
        opened.machines.on_death(worker.note_death)
        opened.machines.on_death(partial(_clean_up_after, services))
        serving = opened.clients.serving(secret, services, opened.view.for_owner(), worker.wake)
        await stack.enter_async_context(serving)
        yield RunningDaemon(url=opened.url, credentials=opened.credentials, services=services, worker=worker)


async def _connect(stack: AsyncExitStack, slack: SlackSurface, life: int) -> None:
    """Begin to receive events, until the stack is left."""
    stack.push_async_callback(slack.stop)
    await slack.connect(life)


async def _clean_up_after(services: DaemonServices, machine: str, worker: int) -> None:
    """Clear in Slack what a dead daemon left, and read what it received and did not record."""
    begun = services.journal.entries_of_kind(WorkerStarted)
    lives = [began.seq for began in begun if began.key.startswith(f"life:{machine}:{worker}:")]
    await services.slack.note_death(lives[-1] if lives else 0)


async def _make_dependencies(
    stack: AsyncExitStack,
    services: DaemonServices,
    own: Sequence[ActionFunction],
    processes: Mapping[str, Process],
    sandbox: Open | None,
) -> TurnDependencies:
    processes = processes or make_processes(services, own)
    if sandbox is None:
        sandboxes = await stack.enter_async_context(make_sandboxes(services.settings))
        sandbox = sandboxes.open
    return make_turn_dependencies(services, own, processes, sandbox)


async def _run_worker(
    stack: AsyncExitStack, opened: OpenDaemon, world: TurnDependencies, grace: float
) -> Worker:
    enter, tools, machines = stack.enter_async_context, opened.services.tools, opened.machines
    journal, clock, limits = world.journal, world.clock, opened.secret.inner
    await enter(tools.running())
    await enter(log_ended_turns(journal))
    await enter(in_background(world.budget.preload()))
    await draw_tag_suffix(journal)
    if limits and machines.share.is_shared and opened.secret.at_work == "all":
        await enter(in_background(record_start(journal, limits, machines.share)))
    elif limits:
        await record_start(journal, limits)
    worker = await enter(Worker(journal, clock, SoulProgram(world), grace=grace, share=machines.trees))
    await enter(in_background(watch_models(world)))
    await enter(in_background(watch_long_waits(world)))
    await enter(in_background(ToolListWatch(world, tools.catalogue, worker.wake).run()))
    if limits:
        placement = machines.make_placement(journal)
        await enter(make_supervisor(opened.secret, journal, clock, worker.wake, placement))
    own_deletion = opened.services.slack.own_deletion
    roles = machines.share if machines.share.is_shared else None
    await enter(ForgettingService(journal, clock, worker.wake, world.to_forget, opened.clear, roles))
    await enter(MessageDeleter(journal, clock, worker.wake, world.to_delete, own_deletion, roles))
    return worker
