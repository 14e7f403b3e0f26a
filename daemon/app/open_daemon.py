"""First phase of a start: journal, services and page, without turns, Slack's events or background work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
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
    load_for_log,
    prompt_catalogue,
    with_samples,
)
from daemon.app.machines import SingleDaemon, WorkspaceShare
from daemon.app.page_link import write_address
from daemon.app.soul_clients import SoulClients, mount_soul_server
from daemon.app.status_view import StatusView, mount_status
from daemon.app.tool_services import ToolServices, make_tool_services
from daemon.app.wiring import (
    DaemonServices,
    RehearsalMount,
    clear_after_forgetting,
    make_answer_forms,
    make_claude,
    make_index,
    make_request_queue,
    make_slack,
    make_slack_access,
    models_by_role,
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
from daemon.engine.clock import Clock
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.writer import JournalWriter
from daemon.engine.worker import Worker
from daemon.knowledge.forgetting import Clear, ClearingElsewhere
from daemon.knowledge.library import FolderLibrary
from daemon.lifetime import RoleHolder
from daemon.mind.steps import STEP_TEXTS
from daemon.ports import Open
from daemon.prompts.elements import soul_name_in
from daemon.prompts.prompt_catalogue import SOUL_TEXT, Playbook
from daemon.settings.home import create_home, project_root
from daemon.settings.parse import ConfigError
from daemon.settings.private_files import FolderFiles, PrivateFiles
from daemon.slack.surface import SlackSurface
from daemon.tools.consent_answers import ConsentAnswers
from daemon.tools.served_speaker import ServedSpeaker, ServedTimes
from daemon.tools.tool_call import ToolServers
from daemon.turn.input_policy import EXPERT_PROCESS
from daemon.turn.prompt_files import PromptFiles
from daemon.turn.turn import Process
from daemon.turn.usage_limits import DailyBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """Options of a start beside the settings.

    `folder`: the owner's texts and actions. `samples`: folder with further actions. `rehearsal`: rehearsed
    services. `processes` and `servers` (of tools): used instead of the configured ones.
    """

    folder: Path = field(default_factory=project_root)
    rehearsal: RehearsalMount | None = None
    samples: Path | None = None
    processes: Mapping[str, Process] = field(default_factory=dict)
    writer: type[JournalWriter] = JournalWriter
    sandbox: Open | None = None
    servers: ToolServers | None = None


@dataclass(slots=True)
class TurnWaker:
    """Wakes threads of the worker; without one, their turns wait in the journal."""

    worker: Worker | None = None

    def wake(self, thread: str) -> None:
        if self.worker:
            self.worker.wake(thread)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDaemon:
    """Daemon that shows its page and follows the journal, and takes no turns.

    `secret` has the tokens of page and MCP clients, too. `own` are the owner's actions. `clear` removes what
    this machine holds of forgotten entries.
    """

    url: str
    credentials: PageCredentials
    services: DaemonServices
    secret: Settings
    options: StartOptions
    own: Sequence[ActionFunction]
    clients: SoulClients
    view: StatusView
    turns: TurnWaker
    clear: Sequence[Clear]
    machines: WorkspaceShare

    @property
    def name(self) -> str:
        return soul_name_in(self.services.texts.current_text(SOUL_TEXT))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPort:
    """Port of a daemon that has joined its workspace, and the guarded application to be served there."""

    listener: socket
    app: web.Application
    url: str
    credentials: PageCredentials
    machines: WorkspaceShare


@asynccontextmanager
async def open_daemon(settings: Settings, clock: Clock, options: StartOptions) -> AsyncIterator[OpenDaemon]:
    """Show the page inside the block. Raises ConfigError and JournalError."""
    files, own = OwnFiles(options.folder), _usable_actions(options.folder, options.samples)
    async with AsyncExitStack() as stack:
        port = await _open_port(stack, settings, clock, options.rehearsal)
        machines, url = port.machines, port.url
        journal = await stack.enter_async_context(machines.open_journal(options.writer))
        write_address(settings.address_path, url)
        texts, turns = _make_prompt_files(options.folder, journal, own, options.processes), TurnWaker()
        access = make_slack_access(settings, options.rehearsal, url)
        slack = make_slack(
            settings, access, journal, machines.clock, turns.wake, machines.share, machines.admit
        )
        clients = await mount_soul_server(settings, port.app, options.folder, machines.make_token)
        secret = replace(settings, console_token=port.credentials.token, mcp_token=clients.token)
        tools = _make_tools(secret, options, port, journal, slack)
        services = await _make_services(stack, settings, machines, journal, texts, slack, tools, url)
        view = mount_status(port.app, services, files, machines)
        await _serve(stack, port, slack)
        yield OpenDaemon(
            url=url,
            credentials=port.credentials,
            services=services,
            secret=secret,
            options=options,
            own=own,
            clients=clients,
            view=view,
            turns=turns,
            clear=await _begin_clearing(stack, services, options, machines),
            machines=machines,
        )


async def _open_port(
    stack: AsyncExitStack, settings: Settings, clock: Clock, rehearsal: RehearsalMount | None
) -> OpenPort:
    listener = _bind_port(stack, settings)
    machines = await _join(stack, settings, clock, listener)
    credentials = await machines.make_credentials()
    app = await _make_application(stack, settings, machines.clock, rehearsal, credentials, machines.files)
    machines.peers.mount(app)
    return OpenPort(
        listener=listener,
        app=app,
        url=url_of_socket(listener),
        credentials=credentials,
        machines=machines,
    )


async def _join(stack: AsyncExitStack, settings: Settings, clock: Clock, listener: socket) -> WorkspaceShare:
    """Return the share of this daemon; with DATABASE_URL it is one of several."""
    if not settings.database_url:
        return SingleDaemon(settings, clock)
    cluster = await load_for_log("cluster_services")
    machines: WorkspaceShare = await stack.enter_async_context(
        cluster.join_machines(settings, clock, listener)
    )
    return machines


def _make_tools(
    secret: Settings, options: StartOptions, port: OpenPort, journal: Journal, slack: SlackSurface
) -> ToolServices:
    machines = port.machines
    return make_tool_services(
        secret,
        machines.clock,
        journal,
        options.folder,
        slack,
        port.url,
        options.servers,
        options.rehearsal,
        machines.files,
        machines.peers.place_servers(journal),
    )


async def _serve(stack: AsyncExitStack, port: OpenPort, slack: SlackSurface) -> None:
    """Open the page's port, and learn who the soul is in Slack."""
    await stack.enter_async_context(serve_app(port.app, port.listener, most=connection_limit()))
    await stack.enter_async_context(slack)


async def _begin_clearing(
    stack: AsyncExitStack, services: DaemonServices, options: StartOptions, machines: WorkspaceShare
) -> Sequence[Clear]:
    """Return the cleanups of this machine; begin what follows from the others, if there are any."""
    clear = clear_after_forgetting(services.settings, options.rehearsal, services.url)
    if machines.share.is_shared:
        await stack.enter_async_context(ClearingElsewhere(services.journal, services.clock, clear))
    await stack.enter_async_context(machines.peers.stating_digests(options.folder, services.clock))
    return clear


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
    machines: WorkspaceShare,
    journal: Journal,
    texts: PromptFiles,
    slack: SlackSurface,
    tools: ToolServices,
    here: str,
) -> DaemonServices:
    """Open the services that all parts share. Raises ConfigError if the model server lacks a model."""
    clock = machines.clock
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
        queue=make_request_queue(settings, claude, machines.places),
        slack=slack,
        budget=DailyBudget(
            journal, clock, settings.budget_daily_usd, settings.owner_user_ids, machines.reservations
        ),
        reach=_make_availability(settings, clock, journal, claude),
        thinking=LiveCalls(),
        library=library,
        served=ServedSpeaker(ServedTimes(journal, clock.now)),
        tools=tools,
    )
    await _begin_look_up(stack, services, machines.share)
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


async def _begin_look_up(stack: AsyncExitStack, services: DaemonServices, roles: RoleHolder) -> None:
    watch = BackendWatch(
        services.claude,
        services.queue,
        services.journal,
        services.budget,
        services.texts,
        services.clock,
        roles,
    )
    await (await stack.enter_async_context(watch)).wait_for_list()


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


def _bind_port(stack: AsyncExitStack, settings: Settings) -> socket:
    create_home(settings.soul_home)
    return stack.enter_context(bind(settings.host, settings.port))


async def bind_application(
    stack: AsyncExitStack,
    settings: Settings,
    clock: Clock,
    rehearsal: RehearsalMount | None,
    credentials: PageCredentials | None,
) -> tuple[web.Application, socket, str]:
    """Return a guarded application with the rehearsed services, a socket for it, and its address."""
    listener = _bind_port(stack, settings)
    files = FolderFiles(settings.soul_home)
    app = await _make_application(stack, settings, clock, rehearsal, credentials, files)
    return app, listener, url_of_socket(listener)


async def _make_application(
    stack: AsyncExitStack,
    settings: Settings,
    clock: Clock,
    rehearsal: RehearsalMount | None,
    credentials: PageCredentials | None,
    files: PrivateFiles,
) -> web.Application:
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
        mount_consent_callback(app, ConsentAnswers(files, clock.now).deliver)
    if rehearsal:
        try:
            await stack.enter_async_context(rehearsal.mounted(app))
        except OSError as error:
            raise JournalError(str(error)) from error
    return app
