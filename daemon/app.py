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
from daemon.actions.built_in import all_actions as every_action
from daemon.actions.function import ActionFunction
from daemon.actions.own import OwnFiles, find_owner_actions, with_samples
from daemon.behaviour import make_processes, make_turn_dependencies
from daemon.connections import (
    RehearsalMount,
    clear_after_forgetting,
    make_answer_forms,
    make_claude,
    make_request_queue,
    make_sandboxes,
    make_slack,
    make_slack_access,
    models_by_role,
)
from daemon.console.credentials import PageCredentials
from daemon.console.guard import install_guard
from daemon.console.session_routes import mount_sessions
from daemon.console.unrecorded import LiveCalls
from daemon.engine.clock import SystemClock
from daemon.engine.exceptions import JournalError
from daemon.engine.journal import Journal
from daemon.engine.worker import Worker
from daemon.engine.writer import JournalWriter
from daemon.errors import ConfigError
from daemon.introduction import print_start_lines
from daemon.kinds import SOUL_KINDS
from daemon.knowledge.folders import FolderLibrary
from daemon.lifetime import in_background, run_until_failure
from daemon.mind.playbook import Playbook
from daemon.mind.steps import STEP_TEXTS
from daemon.mind.wording import SOUL_TEXT, prompt_catalogue, soul_name_in
from daemon.page_access import make_credentials, page_link, write_address
from daemon.playbook_faults import ability_faults, command_faults, playbook_faults
from daemon.ports import Clock, Open
from daemon.process import Process
from daemon.processes import EXPERT_PROCESS, PROCESS_FAULTS, PROCESSES
from daemon.project import create_home, project_root
from daemon.server import BODY, bind, connection_limit, serve_app, url_of_socket
from daemon.services import DaemonServices
from daemon.slack.surface import SlackSurface
from daemon.soul import alarm, long_waits
from daemon.soul.backend_watch import BackendWatch
from daemon.soul.budget import DailyBudget
from daemon.soul.deleter import MessageDeleter
from daemon.soul.eraser import Clear, ForgettingService
from daemon.soul.reach import ModelAvailability
from daemon.soul.soul_program import SoulProgram
from daemon.soul.tag_suffix import draw_tag_suffix
from daemon.soul.texts import PromptFiles
from daemon.soul.world import TurnDependencies
from daemon.turn_lines import log_ended_turns
from daemon.view import mount_status
from daemon.within import make_index, make_supervisor, record_start

GRACE = 10.0
"""Seconds that running turns get when the daemon is told to stop."""


async def run_rehearsal(settings: Settings, rehearsal: RehearsalMount) -> None:
    """A local Slack (/api/) and a local Claude (/v1/), until cancelled."""
    async with AsyncExitStack() as stack:
        clock, credentials = SystemClock(), None
        if settings.console_token:
            credentials = PageCredentials.open_home(settings.soul_home, settings.console_token, clock.now)
        app, listener, here = await _bind_application(stack, settings, clock, rehearsal, credentials)
        await stack.enter_async_context(serve_app(app, listener, most=connection_limit()))
        print(f"workspace  SLACK_API_URL={here}/api/")
        print(f"           SLACK_BOT_TOKEN={rehearsal.bot_token}  SLACK_APP_TOKEN={rehearsal.app_token}")
        print(f"model      ANTHROPIC_BASE_URL={here}")
        print(f"ready  {here}", flush=True)
        await asyncio.Event().wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningDaemon:
    """A daemon that listens: what its owner, and a test, may look at."""

    name: str
    url: str
    credentials: PageCredentials
    services: DaemonServices
    worker: Worker

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
    """The daemon, until cancelled. Raises ConfigError and JournalError."""
    async with start_daemon(settings, SystemClock(), rehearsal=rehearsal, samples=samples) as soul:
        gc.freeze()  # what is there by now stays for good: the collector need not go through it again
        await soul.budget.preload()
        print_start_lines(settings, soul.name, soul.budget, page_link(soul.url, soul.credentials))
        await run_until_failure(soul.journal.died, soul.slack.died)


@asynccontextmanager
async def start_daemon(
    settings: Settings,
    clock: Clock,
    words: Path | None = None,
    grace: float = GRACE,
    *,
    rehearsal: RehearsalMount | None = None,
    samples: Path | None = None,
    processes: Mapping[str, Process] | None = None,
    writer: type[JournalWriter] = JournalWriter,
    sandbox: Open | None = None,
) -> AsyncIterator[RunningDaemon]:
    """While inside, the soul hears and answers; on leaving, running turns get `grace` seconds to end.

    `words` is the folder of the owner's texts and actions, and `samples` one of actions besides; `rehearsal`
    is what the settings do not name of the world; without `processes`, they are those that the settings ask
    for.
    """
    folder = words or project_root()
    files, own = OwnFiles(folder), _usable_actions(folder, samples)
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        credentials = make_credentials(settings, clock.now)
        app, listener, here = await _bind_application(stack, settings, clock, rehearsal, credentials)
        journal = await enter(Journal(settings.journal_path, clock, SOUL_KINDS, writer))
        write_address(settings.address_path, here)
        texts = _make_prompt_files(folder, journal, own, processes or {})
        access = make_slack_access(settings, rehearsal, here)
        slack = make_slack(settings, access, journal, clock, lambda thread: worker.wake(thread))
        services = await _make_services(stack, settings, clock, journal, texts, slack, here)
        mount_status(app, services, files)
        await enter(serve_app(app, listener, most=connection_limit()))
        await enter(slack)
        world = await _make_dependencies(
            stack, services, own, processes or make_processes(services, own), sandbox
        )
        secret = replace(settings, console_token=credentials.token)
        worker = await _run_worker(
            stack, secret, world, grace, slack, clear_after_forgetting(settings, rehearsal, here)
        )
        stack.push_async_callback(slack.stop)
        await slack.connect()
        name = soul_name_in(texts.current_text(SOUL_TEXT))
        yield RunningDaemon(name=name, url=here, credentials=credentials, services=services, worker=worker)


def _usable_actions(folder: Path, samples: Path | None) -> Sequence[ActionFunction]:
    """The owner's actions, and these samples. Raises ConfigError with a line for each fault of an action's or
    process's file."""
    own = find_owner_actions(folder)
    if samples:
        own = with_samples(own, samples)
    lines = []
    for name, faults in own.faults.items():
        lines += [f"{name}: {fault}" for fault in faults]
    for name, faults in PROCESS_FAULTS.items():
        lines += [f"processes/{name}: {fault}" for fault in faults]
    if not PROCESS_FAULTS:
        lines += [f"{command}: {fault}" for command, fault in command_faults(PROCESSES)]
    if lines:
        raise ConfigError("\n".join(lines))
    return own.actions


async def _make_services(
    stack: AsyncExitStack,
    settings: Settings,
    clock: Clock,
    journal: Journal,
    texts: PromptFiles,
    slack: SlackSurface,
    here: str,
) -> DaemonServices:
    """What there is once for all, until the stack ends; Slack begins later. Raises ConfigError where the
    model's server lacks a model."""
    claude = await stack.enter_async_context(make_claude(settings, clock, here))
    library = None
    if settings.knowledge_dirs:
        library = stack.enter_context(FolderLibrary(settings.knowledge_dirs))
    services = DaemonServices(
        settings=settings,
        clock=clock,
        url=here,
        journal=journal,
        index=stack.enter_context(make_index(journal)),
        texts=texts,
        claude=claude,
        queue=make_request_queue(settings, claude),
        slack=slack,
        budget=DailyBudget(journal, clock, settings.budget_daily_usd, settings.owner_user_ids),
        reach=ModelAvailability(
            journal,
            clock,
            models_by_role(settings),
            claude.availability,
            claude.account,
            make_answer_forms(settings, claude),
        ),
        thinking=LiveCalls(),
        library=library,
    )
    await _begin_look_up(stack, services)
    return services


async def _begin_look_up(stack: AsyncExitStack, services: DaemonServices) -> None:
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


async def _make_dependencies(
    stack: AsyncExitStack,
    services: DaemonServices,
    own: Sequence[ActionFunction],
    processes: Mapping[str, Process],
    sandbox: Open | None,
) -> TurnDependencies:
    """All that turns can reach, which have this sandbox, or those that the settings ask for."""
    if sandbox is None:
        sandboxes = await stack.enter_async_context(make_sandboxes(services.settings))
        sandbox = sandboxes.open
    return make_turn_dependencies(services, own, processes, sandbox)


async def _run_worker(
    stack: AsyncExitStack,
    settings: Settings,
    world: TurnDependencies,
    grace: float,
    slack: SlackSurface,
    clear: Sequence[Clear],
) -> Worker:
    """What takes turns in this world, and what goes on beside it, until the stack ends."""
    enter = stack.enter_async_context
    await enter(log_ended_turns(world.journal))
    await enter(in_background(world.budget.preload()))
    await draw_tag_suffix(world.journal)
    if settings.inner:
        await record_start(world.journal, settings.inner)
    worker = await enter(Worker(world.journal, world.clock, SoulProgram(world), grace=grace))
    await enter(in_background(alarm.watch_models(world)))
    await enter(in_background(long_waits.watch_long_waits(world)))
    if settings.inner:
        await enter(make_supervisor(settings, world.journal, world.clock, worker.wake))
    await enter(ForgettingService(world.journal, world.clock, worker.wake, world.to_forget, clear))
    await enter(MessageDeleter(world.journal, world.clock, worker.wake, world.to_delete, slack.own_deletion))
    return worker


def _make_prompt_files(
    folder: Path, journal: Journal, own: Sequence[ActionFunction], processes: Mapping[str, Process]
) -> PromptFiles:
    """The owner's texts in this folder, with those that these actions and processes need."""
    needed = [*PROCESSES.values(), *processes.values()]
    known = prompt_catalogue(needed, STEP_TEXTS, *(one.texts for one in own))
    registry = every_action(own)

    def book_faults(one: Playbook, playbooks: Collection[str]) -> Iterator[str]:
        there = {*PROCESSES, *processes, *playbooks, EXPERT_PROCESS}
        return playbook_faults(one, registry, PROCESSES, there)

    def wrong_abilities(text: str, playbooks: Collection[str]) -> Iterable[str]:
        return ability_faults(text, registry, {*PROCESSES, *processes, *playbooks})

    return PromptFiles(
        folder, journal, replace(known, book_faults=book_faults, ability_faults=wrong_abilities)
    )


async def _bind_application(
    stack: AsyncExitStack,
    settings: Settings,
    clock: Clock,
    rehearsal: RehearsalMount | None,
    credentials: PageCredentials | None,
) -> tuple[web.Application, socket, str]:
    """The application, with what is rehearsed in it, the socket on which it is to answer, and its address."""
    create_home(settings.soul_home)
    listener = stack.enter_context(bind(settings.host, settings.port))
    app = web.Application(client_max_size=BODY)
    install_guard(
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
    return app, listener, url_of_socket(listener)
