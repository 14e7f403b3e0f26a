"""The wiring: which value goes to whom, on one screen. `__main__` calls `run` or `rehearse`."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from socket import socket

from aiohttp import web

from config import Settings
from daemon.actions.built_in import catalogue as every_action
from daemon.actions.function import ActionFunction
from daemon.actions.own import OwnFiles, own_actions, with_samples
from daemon.behaviour import processes_of, world_of
from daemon.connections import (
    Rehearsal,
    access_for,
    claude_for,
    clearing,
    forms_for,
    models_of,
    queue_for,
    sandboxes_for,
    slack_for,
)
from daemon.console.credentials import Credentials
from daemon.console.guard import protect
from daemon.console.session_routes import mount_sessions
from daemon.console.unrecorded import Thinking
from daemon.engine.clock import SystemClock
from daemon.engine.exceptions import JournalError
from daemon.engine.journal import Journal
from daemon.engine.worker import Worker
from daemon.engine.writer import Writer
from daemon.errors import ConfigError
from daemon.introduction import introduce
from daemon.kinds import SOUL_KINDS
from daemon.knowledge.folders import Folders
from daemon.lifetime import live, meanwhile
from daemon.mind.playbook import Playbook
from daemon.mind.steps import STEP_TEXTS
from daemon.mind.wording import SOUL, catalogue, name_of
from daemon.page_access import credentials_for, link_to, note_address
from daemon.playbook_faults import ability_faults, command_faults, playbook_faults
from daemon.ports import Clock, Open
from daemon.process import Process
from daemon.processes import EXPERT, FAULTS, PROCESSES
from daemon.project import root, settle
from daemon.server import BODY, address, bind, roomy, serving
from daemon.services import Services
from daemon.slack.surface import Slack
from daemon.soul import alarm, long_waits
from daemon.soul.backend_watch import BackendWatch
from daemon.soul.budget import Budget
from daemon.soul.deleter import Deleter
from daemon.soul.eraser import Clear, Eraser
from daemon.soul.reach import Reach
from daemon.soul.soul_program import Soul
from daemon.soul.tag_suffix import draw_suffix
from daemon.soul.texts import Texts
from daemon.soul.world import World
from daemon.turn_lines import turn_lines
from daemon.view import show
from daemon.within import begin, index_of, supervisor_of

GRACE = 10.0
"""Seconds that running turns get when the daemon is told to stop."""


async def rehearse(settings: Settings, rehearsal: Rehearsal) -> None:
    """A local Slack (/api/) and a local Claude (/v1/), until cancelled."""
    async with AsyncExitStack() as stack:
        clock, credentials = SystemClock(), None
        if settings.console_token:
            credentials = Credentials.open_home(settings.soul_home, settings.console_token, clock.now)
        app, listener, here = await _port(stack, settings, clock, rehearsal, credentials)
        await stack.enter_async_context(serving(app, listener, most=roomy()))
        print(f"workspace  SLACK_API_URL={here}/api/")
        print(f"           SLACK_BOT_TOKEN={rehearsal.bot_token}  SLACK_APP_TOKEN={rehearsal.app_token}")
        print(f"model      ANTHROPIC_BASE_URL={here}")
        print(f"ready  {here}", flush=True)
        await asyncio.Event().wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Awake:
    """A daemon that listens: what its owner, and a test, may look at."""

    name: str
    url: str
    credentials: Credentials
    services: Services
    worker: Worker

    @property
    def journal(self) -> Journal:
        return self.services.journal

    @property
    def slack(self) -> Slack:
        return self.services.slack

    @property
    def budget(self) -> Budget:
        return self.services.budget


async def run(settings: Settings, rehearsal: Rehearsal | None, samples: Path | None = None) -> None:
    """The daemon, until cancelled. Raises ConfigError and JournalError."""
    async with awake(settings, SystemClock(), rehearsal=rehearsal, samples=samples) as soul:
        gc.freeze()  # what is there by now stays for good: the collector need not go through it again
        await soul.budget.preload()
        introduce(settings, soul.name, soul.budget, link_to(soul.url, soul.credentials))
        await live(soul.journal.died, soul.slack.died)


@asynccontextmanager
async def awake(
    settings: Settings,
    clock: Clock,
    words: Path | None = None,
    grace: float = GRACE,
    *,
    rehearsal: Rehearsal | None = None,
    samples: Path | None = None,
    processes: Mapping[str, Process] | None = None,
    writer: type[Writer] = Writer,
    sandbox: Open | None = None,
) -> AsyncIterator[Awake]:
    """While inside, the soul hears and answers; on leaving, running turns get `grace` seconds to end.

    `words` is the folder of the owner's texts and actions, and `samples` one of actions besides; `rehearsal`
    is what the settings do not name of the world; without `processes`, they are those that the settings ask
    for.
    """
    folder = words or root()
    files, own = OwnFiles(folder), _usable(folder, samples)
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        credentials = credentials_for(settings, clock.now)
        app, listener, here = await _port(stack, settings, clock, rehearsal, credentials)
        journal = await enter(Journal(settings.journal_path, clock, SOUL_KINDS, writer))
        note_address(settings.address_path, here)
        texts = _texts(folder, journal, own, processes or {})
        access = access_for(settings, rehearsal, here)
        slack = slack_for(settings, access, journal, clock, lambda thread: worker.wake(thread))
        services = await _services(stack, settings, clock, journal, texts, slack, here)
        show(app, services, files)
        await enter(serving(app, listener, most=roomy()))
        await enter(slack)
        world = await _world(stack, services, own, processes or processes_of(services, own), sandbox)
        secret = replace(settings, console_token=credentials.token)
        worker = await _at_work(stack, secret, world, grace, slack, clearing(settings, rehearsal, here))
        stack.push_async_callback(slack.stop)
        await slack.connect()
        name = name_of(texts.current_text(SOUL))
        yield Awake(name=name, url=here, credentials=credentials, services=services, worker=worker)


def _usable(folder: Path, samples: Path | None) -> Sequence[ActionFunction]:
    """The owner's actions, and these samples. Raises ConfigError with a line for each fault of an action's or
    process's file."""
    own = own_actions(folder)
    if samples:
        own = with_samples(own, samples)
    lines = []
    for name, faults in own.faults.items():
        lines += [f"{name}: {fault}" for fault in faults]
    for name, faults in FAULTS.items():
        lines += [f"processes/{name}: {fault}" for fault in faults]
    if not FAULTS:
        lines += [f"{command}: {fault}" for command, fault in command_faults(PROCESSES)]
    if lines:
        raise ConfigError("\n".join(lines))
    return own.actions


async def _services(
    stack: AsyncExitStack,
    settings: Settings,
    clock: Clock,
    journal: Journal,
    texts: Texts,
    slack: Slack,
    here: str,
) -> Services:
    """What there is once for all, until the stack ends; Slack begins later. Raises ConfigError where the
    model's server lacks a model."""
    claude = await stack.enter_async_context(claude_for(settings, clock, here))
    library = None
    if settings.knowledge_dirs:
        library = stack.enter_context(Folders(settings.knowledge_dirs))
    services = Services(
        settings=settings,
        clock=clock,
        url=here,
        journal=journal,
        index=stack.enter_context(index_of(journal)),
        texts=texts,
        claude=claude,
        queue=queue_for(settings, claude),
        slack=slack,
        budget=Budget(journal, clock, settings.budget_daily_usd, settings.owner_user_ids),
        reach=Reach(
            journal,
            clock,
            models_of(settings),
            claude.availability,
            claude.account,
            forms_for(settings, claude),
        ),
        thinking=Thinking(),
        library=library,
    )
    await _look_up(stack, services)
    return services


async def _look_up(stack: AsyncExitStack, services: Services) -> None:
    """Begin to look up what the model's server can do. Raises ConfigError where it lacks a model."""
    watch = BackendWatch(
        services.claude,
        services.queue,
        services.journal,
        services.budget,
        services.texts,
        services.clock,
    )
    await (await stack.enter_async_context(watch)).wait_for_list()


async def _world(
    stack: AsyncExitStack,
    services: Services,
    own: Sequence[ActionFunction],
    processes: Mapping[str, Process],
    sandbox: Open | None,
) -> World:
    """All that turns can reach, which have this sandbox, or those that the settings ask for."""
    if sandbox is None:
        sandboxes = await stack.enter_async_context(sandboxes_for(services.settings))
        sandbox = sandboxes.open
    return world_of(services, own, processes, sandbox)


async def _at_work(
    stack: AsyncExitStack,
    settings: Settings,
    world: World,
    grace: float,
    slack: Slack,
    clear: Sequence[Clear],
) -> Worker:
    """What takes turns in this world, and what goes on beside it, until the stack ends."""
    enter = stack.enter_async_context
    await enter(turn_lines(world.journal))
    await enter(meanwhile(world.budget.preload()))
    await draw_suffix(world.journal)
    if settings.inner:
        await begin(world.journal, settings.inner)
    worker = await enter(Worker(world.journal, world.clock, Soul(world), grace=grace))
    await enter(meanwhile(alarm.watch(world)))
    await enter(meanwhile(long_waits.watch(world)))
    if settings.inner:
        await enter(supervisor_of(settings, world.journal, world.clock, worker.wake))
    await enter(Eraser(world.journal, world.clock, worker.wake, world.to_forget, clear))
    await enter(Deleter(world.journal, world.clock, worker.wake, world.to_delete, slack.own_deletion))
    return worker


def _texts(
    folder: Path, journal: Journal, own: Sequence[ActionFunction], processes: Mapping[str, Process]
) -> Texts:
    """The owner's texts in this folder, with those that these actions and processes need."""
    needed = [*PROCESSES.values(), *processes.values()]
    known = catalogue(needed, STEP_TEXTS, *(one.texts for one in own))
    registry = every_action(own)

    def book_faults(one: Playbook, playbooks: Collection[str]) -> Iterator[str]:
        there = {*PROCESSES, *processes, *playbooks, EXPERT}
        return playbook_faults(one, registry, PROCESSES, there)

    def wrong_abilities(text: str, playbooks: Collection[str]) -> Iterable[str]:
        return ability_faults(text, registry, {*PROCESSES, *processes, *playbooks})

    return Texts(folder, journal, replace(known, book_faults=book_faults, ability_faults=wrong_abilities))


async def _port(
    stack: AsyncExitStack,
    settings: Settings,
    clock: Clock,
    rehearsal: Rehearsal | None,
    credentials: Credentials | None,
) -> tuple[web.Application, socket, str]:
    """The application, with what is rehearsed in it, the socket on which it is to answer, and its address."""
    settle(settings.soul_home)
    listener = stack.enter_context(bind(settings.host, settings.port))
    app = web.Application(client_max_size=BODY)
    protect(
        app,
        host=settings.host,
        clock=clock,
        credentials=credentials,
        world_is_open=not settings.console_token,
        url=settings.console_url,
    )
    if credentials:
        mount_sessions(app, credentials)
    if rehearsal:
        try:
            await stack.enter_async_context(rehearsal.mounted(app))
        except OSError as error:
            raise JournalError(str(error)) from error
    return app, listener, address(listener)
