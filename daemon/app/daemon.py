"""Start of the daemon: services, worker, console and start lines."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from socket import socket

from aiohttp import web

from config import Settings
from daemon.actions.function import ActionFunction
from daemon.app.backend_watch import BackendWatch
from daemon.app.check import ability_faults, command_faults, playbook_faults
from daemon.app.discovery import (
    PROCESS_FAULTS,
    PROCESSES,
    OwnFiles,
    all_actions,
    find_owner_actions,
    prompt_catalogue,
    with_samples,
)
from daemon.app.page_link import make_credentials, page_link, write_address
from daemon.app.soul_clients import mount_soul_server
from daemon.app.start_lines import print_start_lines
from daemon.app.status_view import mount_status
from daemon.app.tool_services import ToolServices, make_tool_services
from daemon.app.wiring import (
    DaemonServices,
    RehearsalMount,
    clear_after_forgetting,
    make_answer_forms,
    make_claude,
    make_index,
    make_processes,
    make_request_queue,
    make_sandboxes,
    make_slack,
    make_slack_access,
    make_supervisor,
    make_turn_dependencies,
    models_by_role,
    record_start,
)
from daemon.claude.availability import ModelAvailability
from daemon.claude.client import ClaudeClient
from daemon.console.access import (
    PageCredentials,
    install_guard,
    mount_sessions,
)
from daemon.console.consent_callback import mount_consent_callback
from daemon.console.live_calls import LiveCalls
from daemon.console.server import BODY, bind, connection_limit, serve_app, url_of_socket
from daemon.engine.clock import Clock, SystemClock
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.writer import JournalWriter
from daemon.engine.worker import Worker
from daemon.kinds import SOUL_KINDS
from daemon.knowledge.forgetting import Clear, ForgettingService, MessageDeleter
from daemon.knowledge.library import FolderLibrary
from daemon.lifetime import in_background, run_until_failure
from daemon.mind.steps import STEP_TEXTS
from daemon.ports import Open
from daemon.prompts.elements import soul_name_in
from daemon.prompts.prompt_catalogue import SOUL_TEXT, Playbook
from daemon.settings.home import create_home, project_root
from daemon.settings.parse import ConfigError
from daemon.slack.surface import SlackSurface
from daemon.telemetry.turn_lines import log_ended_turns
from daemon.tools.changed_tools import ToolListWatch
from daemon.tools.consent_answers import ConsentAnswers
from daemon.tools.served_speaker import ServedSpeaker, ServedTimes
from daemon.tools.tool_call import ToolServers
from daemon.turn.input_policy import EXPERT_PROCESS
from daemon.turn.owner_alerts import watch_models
from daemon.turn.prompt_files import PromptFiles, draw_tag_suffix
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
        app, listener, here = await _bind_application(stack, settings, clock, rehearsal, credentials)
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
    """Run the daemon until cancelled. Raises ConfigError and JournalError."""
    async with start_daemon(settings, SystemClock(), rehearsal=rehearsal, samples=samples) as soul:
        gc.freeze()  # imported objects are never garbage
        await soul.budget.preload()
        print_start_lines(settings, soul.name, soul.budget, page_link(soul.url, soul.credentials))
        await run_until_failure(soul.journal.died, soul.slack.died)


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
    """Run the soul inside the block; at its end, running turns get `grace` seconds.

    `folder`: the owner's texts and actions. `samples`: folder with further actions. `rehearsal`: rehearsed
    services. `processes` and `servers` (of tools): used instead of the configured ones.
    """
    folder = folder or project_root()
    files, own = OwnFiles(folder), _usable_actions(folder, samples)
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        credentials = make_credentials(settings, clock.now)
        app, listener, here = await _bind_application(stack, settings, clock, rehearsal, credentials)
        journal = await _open_journal(stack, settings, clock, writer, here)
        texts = _make_prompt_files(folder, journal, own, processes or {})
        access = make_slack_access(settings, rehearsal, here)
        slack = make_slack(settings, access, journal, clock, lambda thread: worker.wake(thread))
        clients = mount_soul_server(settings, app, folder)
        secret = replace(settings, console_token=credentials.token, mcp_token=clients.token)
        tools = make_tool_services(secret, clock, journal, folder, slack, here, servers, rehearsal)
        services = await _make_services(stack, settings, clock, journal, texts, slack, tools, here)
        view = mount_status(app, services, files)
        await _serve(stack, app, listener, slack)
        world = await _make_dependencies(stack, services, own, processes, sandbox)
        clear = clear_after_forgetting(settings, rehearsal, here)
        worker = await _run_worker(stack, secret, world, grace, slack, clear, tools)
        await _connect(stack, slack)
        await enter(clients.serving(secret, services, view.for_owner(), worker.wake))
        yield RunningDaemon(url=here, credentials=credentials, services=services, worker=worker)


async def _open_journal(
    stack: AsyncExitStack, settings: Settings, clock: Clock, writer: type[JournalWriter], here: str
) -> Journal:
    """Open the journal, which no other daemon may hold, and say where this one is."""
    journal = await stack.enter_async_context(Journal(settings.journal_path, clock, SOUL_KINDS, writer))
    write_address(settings.address_path, here)
    return journal


async def _serve(stack: AsyncExitStack, app: web.Application, listener: socket, slack: SlackSurface) -> None:
    """Open the page's port, and learn who the soul is in Slack."""
    await stack.enter_async_context(serve_app(app, listener, most=connection_limit()))
    await stack.enter_async_context(slack)


async def _connect(stack: AsyncExitStack, slack: SlackSurface) -> None:
    """Begin to receive events, until the stack is left."""
    stack.push_async_callback(slack.stop)
    await slack.connect()


def _usable_actions(folder: Path, samples: Path | None) -> Sequence[ActionFunction]:
    """Return the owner's actions and the samples.

    Raises ConfigError with a line for each fault of an action or process.
    """
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
    tools: ToolServices,
    here: str,
) -> DaemonServices:
    """Open the services that all parts share. Raises ConfigError if the model server lacks a model."""
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
        reach=_make_availability(settings, clock, journal, claude),
        thinking=LiveCalls(),
        library=library,
        served=ServedSpeaker(ServedTimes(journal, clock.now)),
        tools=tools,
    )
    await _begin_look_up(stack, services)
    return services


def _make_availability(
    settings: Settings, clock: Clock, journal: Journal, claude: ClaudeClient
) -> ModelAvailability:
    return ModelAvailability(
        journal,
        clock,
        models_by_role(settings),
        claude.availability,
        claude.account,
        make_answer_forms(settings, claude),
    )


async def _begin_look_up(stack: AsyncExitStack, services: DaemonServices) -> None:
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
    processes: Mapping[str, Process] | None,
    sandbox: Open | None,
) -> TurnDependencies:
    processes = processes or make_processes(services, own)
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
    tools: ToolServices,
) -> Worker:
    enter = stack.enter_async_context
    await enter(tools.running())
    await enter(log_ended_turns(world.journal))
    await enter(in_background(world.budget.preload()))
    await draw_tag_suffix(world.journal)
    if settings.inner:
        await record_start(world.journal, settings.inner)
    worker = await enter(Worker(world.journal, world.clock, SoulProgram(world), grace=grace))
    await enter(in_background(watch_models(world)))
    await enter(in_background(watch_long_waits(world)))
    await enter(in_background(ToolListWatch(world, tools.catalogue, worker.wake).run()))
    if settings.inner:
        await enter(make_supervisor(settings, world.journal, world.clock, worker.wake))
    await enter(ForgettingService(world.journal, world.clock, worker.wake, world.to_forget, clear))
    await enter(MessageDeleter(world.journal, world.clock, worker.wake, world.to_delete, slack.own_deletion))
    return worker


def _make_prompt_files(
    folder: Path, journal: Journal, own: Sequence[ActionFunction], processes: Mapping[str, Process]
) -> PromptFiles:
    needed = [*PROCESSES.values(), *processes.values()]
    known = prompt_catalogue(needed, STEP_TEXTS, *(one.texts for one in own))
    registry = all_actions(own)

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
        mount_consent_callback(app, ConsentAnswers(settings.soul_home, clock.now).deliver)
    if rehearsal:
        try:
            await stack.enter_async_context(rehearsal.mounted(app))
        except OSError as error:
            raise JournalError(str(error)) from error
    return app, listener, url_of_socket(listener)
