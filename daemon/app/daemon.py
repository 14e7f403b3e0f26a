"""Start of the daemon: services, worker, console and start lines."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from socket import socket
from typing import Any
from urllib.parse import urlsplit

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
from daemon.app.soul_clients import OwnerStatus, mount_soul_server
from daemon.app.tool_services import ToolServices, make_tool_services
from daemon.app.tool_status import state_line
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
    make_state,
    make_supervisor,
    make_turn_dependencies,
    models_by_role,
    record_start,
)
from daemon.claude.availability import ModelAvailability
from daemon.claude.client import ClaudeClient, highest_cost
from daemon.claude.models import SPOKEN
from daemon.console.access import (
    PageCredentials,
    install_guard,
    mount_sessions,
    read_or_make_token,
)
from daemon.console.consent_callback import mount_consent_callback
from daemon.console.live_calls import LiveCalls
from daemon.console.overview import BudgetInfo, PageAnswers, PageOverview, SlackLinks
from daemon.console.routes import ConsoleSetup, ModelHealth, backend_as_json, mount_console, mount_overview
from daemon.console.server import BODY, bind, connection_limit, serve_app, url_of_socket
from daemon.console.tools_page import mount_tools
from daemon.engine.clock import Clock, SystemClock
from daemon.engine.event import Entry, digest
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.journal_file import lock_holder
from daemon.engine.journal.writer import JournalWriter
from daemon.engine.worker import Worker
from daemon.inner_life.contexts import InnerLifeView
from daemon.kinds import SOUL_KINDS, ModelCall
from daemon.knowledge.forgetting import Clear, ForgettingService, MessageDeleter
from daemon.knowledge.library import FolderLibrary
from daemon.lifetime import in_background, run_until_failure
from daemon.mind.steps import STEP_TEXTS
from daemon.ports import Open
from daemon.prompts.elements import parse_labels, soul_name_in
from daemon.prompts.prompt_catalogue import LABELS_TEXT, SOUL_TEXT, Playbook
from daemon.settings.home import create_home, project_root, version, write_private
from daemon.settings.parse import ConfigError
from daemon.settings.private_files import FolderFiles
from daemon.settings.token_file import read_token
from daemon.slack.surface import SlackSurface
from daemon.slack.web_api import SLACK
from daemon.telemetry.metrics import Metrics
from daemon.telemetry.turn_lines import log_ended_turns
from daemon.tools.changed_tools import ToolListWatch
from daemon.tools.consent_answers import ConsentAnswers
from daemon.tools.owner_tools_page import OwnerToolsPage
from daemon.tools.served_speaker import ServedSpeaker, ServedTimes
from daemon.tools.tool_call import ToolServers
from daemon.turn.input_policy import EXPERT_PROCESS
from daemon.turn.owner_alerts import watch_models
from daemon.turn.prompt_files import PromptFiles, draw_tag_suffix
from daemon.turn.recall import memory_of_call
from daemon.turn.soul_program import SoulProgram, watch_long_waits
from daemon.turn.turn import Process, TurnDependencies
from daemon.turn.usage_limits import DailyBudget

log = logging.getLogger(__name__)


LEAST_PROMPT_TOKENS = 2_000
"""Tokens of the shortest prompt of a call."""


def unusual_host(url: str, home: str) -> str:
    """Return the host of `url`; empty if it is the usual address `home`."""
    return "" if url in ("", home) else urlsplit(url).netloc


def budget_warning_line(settings: Settings) -> str:
    """Return a warning if one call may cost more than the daily budget; else empty."""
    if settings.claude == "rehearsed":
        return ""
    spec = settings.table.model(settings.claude_model)
    least = highest_cost(spec, LEAST_PROMPT_TOKENS, spec.answer_tokens(SPOKEN + spec.thoughts))
    if least <= settings.budget_daily_usd:
        return ""
    return (
        f"; no call is made: one of {spec.id} may cost up to ${least:.2f}, more than BUDGET_DAILY_USD allows"
    )


def print_start_lines(settings: Settings, name: str, budget: DailyBudget, link: str) -> None:
    """Print at most nine lines about the start; the last has the link to the page."""
    workspace = unusual_host(settings.slack_api_url, SLACK) or "Slack"
    thinker = settings.claude_model
    if settings.slack == "rehearsed":
        workspace = "rehearsed on this machine (for Slack, set SLACK_BOT_TOKEN and SLACK_APP_TOKEN)"
    if settings.claude == "rehearsed":
        thinker = "rehearsed by a script that says so (for Claude, set ANTHROPIC_API_KEY)"
        if settings.openai_api_key:
            thinker = "rehearsed by a script that says so (OPENAI_API_KEY needs OPENAI_BASE_URL, too)"
    elif settings.model_url:
        thinker = f"{thinker} at {unusual_host(settings.model_url, '')}"
    print(f"soul       {name}, as soul.md says")
    print(f"workspace  {workspace}")
    print(f"model      {thinker}")
    print(f"journal    {settings.journal_path}")
    if settings.ism_enabled:
        watched = "a limit ends a run (with OWNER_USER_IDS, an owner may let it go on)"
        if settings.owner_user_ids:
            watched = "at a limit an owner may let it go on"
        print(f"decides    by itself, in runs of {settings.ism_max_loops} rounds; {watched}")
    spent = budget.today().cost
    warning = budget_warning_line(settings)
    print(f"budget     ${budget.daily:.2f} a day (UTC), ${spent:.2f} of it spent today{warning}")
    print(f"ready  {link}", flush=True)


NOT_RUNNING = (
    "No daemon with these settings is running in {home}: start it, and the last line that it prints holds a "
    "link. SOUL_HOME names the folder of the one that you mean."
)


def make_credentials(settings: Settings, now: Callable[[], float]) -> PageCredentials:
    """Return the credentials of the page; create a missing token. Raises ConfigError and JournalError."""
    create_home(settings.soul_home)
    token = settings.console_token or read_or_make_token(settings.soul_home)
    return PageCredentials.open_home(settings.soul_home, token, now)


def write_address(path: Path, here: str) -> None:
    """Write the daemon's address to a file for the CLI command `link`; a failure is only logged."""
    try:
        write_private(path, f"{here}\n")
    except OSError as error:
        log.warning(
            "%s cannot be written (%s): `python -m daemon link` prints no address.", path, error.strerror
        )


def page_link(page: str, credentials: PageCredentials) -> str:
    """Return the page's address with a new token, or without one if none can be stored."""
    try:
        return f"{page}/?token={credentials.make_link()}"
    except JournalError as error:
        log.warning("Could not make a link to the page: %s", error)
        return page


def make_page_link(settings: Settings, now: Callable[[], float]) -> str:
    """Return a link to the page of the running daemon.

    Raises ConfigError without a running daemon or a token, JournalError if the link cannot be stored.
    """
    if not lock_holder(settings.journal_path):
        raise ConfigError(NOT_RUNNING.format(home=settings.soul_home))
    token = settings.console_token or read_token(settings.soul_home)
    here = _text_or_empty(settings.address_path)
    if not token or not here:
        raise ConfigError(
            f"{settings.soul_home} no longer holds the token or the address of the daemon that runs there: "
            "start it again."
        )
    page = settings.console_url.rstrip("/") or here
    return f"{page}/?token={PageCredentials.open_home(settings.soul_home, token, now).make_link()}"


def _text_or_empty(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


GAUGES = (
    ("soul_deaf", "deaf", "1 when no message can come in."),
    ("soul_sockets_alive", "sockets", "Sockets on which Slack sends events."),
    ("soul_inbound_age_seconds", "inbound_age", "Since Slack sent even a pong."),
    ("soul_event_age_seconds", "event_age", "Since Slack sent an event."),
    ("soul_caught_up_timestamp_seconds", "caught_up_until", "Until when all is read."),
    ("soul_catching_up", "catching_up", "1 until what was missed is read, failing or not."),
    ("soul_catch_up_left", "left_to_read", "Conversations and threads that are still to be read."),
)
"""Health metrics: name of the metric, field of the health, description."""


MOST_NAMED_FAULTS = 5
"""Most faulty files of the owner that are named."""


def mount_status(app: web.Application, services: DaemonServices, own_files: OwnFiles) -> StatusView:
    view = StatusView(services, own_files)
    console = ConsoleSetup(
        journal=services.journal,
        rebuild=view.rebuild,
        state=view.state,
        health=view.health,
        ready=services.budget.preload,
        details=view.details,
        inner=view.inside,
        thinking=services.thinking,
    )
    mount_console(app, console)
    mount_overview(app, view.overview)
    mount_tools(app, view.tools)
    view.metrics().mount(app)
    return view


class StatusView:
    """State of the services, for the page and the metrics."""

    def __init__(self, services: DaemonServices, own_files: OwnFiles) -> None:
        self._services = services
        self._own_files = own_files
        self._slack = slack = services.slack
        self._budget = budget = services.budget
        journal, settings, now = services.journal, services.settings, services.clock.now
        self._began, self._version = services.clock.steady(), version()
        self._models = ModelHealth(services.reach, services.claude.availability, now)
        self.inside = InnerLifeView(
            journal=journal,
            state=make_state(journal, services.index, slack.places),
            limits=settings.inner,
            now=now,
            spent=lambda: budget.today().inner,
        )
        purse = BudgetInfo(daily=budget.daily, now=now)
        link = slack.message_link if settings.slack == "real" else _no_link
        directory = SlackLinks(name_of=self._called, people_in=slack.people_in, link=link)
        answering = PageAnswers(journal, settings.owner_user_ids, slack.press)
        self.overview = PageOverview(journal, slack.places, purse, answering, directory)
        self.tools = OwnerToolsPage(
            catalogue=services.tools.catalogue,
            servers=services.tools.connected,
            consents=services.tools.consents,
            faults=lambda: services.tools.configuration.faults,
            places=slack.places,
            team=lambda: slack.team,
            name_of=self._called,
            label=self._label,
            viewer=answering.viewer,
        )

    def metrics(self) -> Metrics:
        hearing = self._slack.hearing
        metrics = Metrics(self._services.journal)
        faults = "Things that are wrong and that no restart mends; /healthz says which."
        metrics.gauge("soul_faults", faults, lambda: len(self._faults()))
        wanted = "Sockets that are kept (SLACK_CONNECTIONS)."
        metrics.gauge("soul_sockets_wanted", wanted, lambda: hearing.wanted)
        for name, part, help in GAUGES:
            metrics.gauge(name, help, partial(self._part_of_hearing, part))
        metrics.counter("soul_events", "Events that Slack sent.", "type", hearing.events)
        opened = "Sockets opened, by what made it necessary."
        metrics.counter("soul_connections", opened, "reason", hearing.opened)
        failed = "Attempts in vain, by what was lacking."
        metrics.counter("soul_connection_failures", failed, "lacking", hearing.failed)
        self._models.add_metrics(metrics)
        return metrics

    def rebuild(self, call: Entry[ModelCall]) -> tuple[Mapping[str, Any], bool]:
        """Rebuild the request of a call; return (request, True if its digest is the recorded one)."""
        memory = memory_of_call(call, self._services.texts.text_entry, self._services.journal.entry)
        seen = self._services.claude.request(memory, call.event.model, call.event.schema)
        return seen, digest(seen) == call.event.saw

    def state(self) -> Mapping[str, Any]:
        settings, budget = self._services.settings, self._budget
        today = budget.today()
        is_real = settings.slack == "real"
        return {
            "name": self._name(),
            "rehearsed": {"workspace": not is_real, "model": settings.claude == "rehearsed"},
            "workspace_at": unusual_host(settings.slack_api_url, SLACK) if is_real else "",
            "model_at": unusual_host(settings.model_url, ""),
            "budget": budget.daily,
            "spent": today.cost,
            "worth": today.worth,
            "wrong": self._faults(),
            "reports": [self._models.report_as_json(one) for one in self._models.reports],
            "models": {"speak": settings.claude_model, "fast": settings.claude_model_fast},
            "inner": self.inside.has_content,
            "questions": self.overview.open_question_count,
            "tools": self.tools.state_as_json(),
        }

    def _name(self) -> str:
        return soul_name_in(self._services.texts.newest_text(SOUL_TEXT))

    def _label(self, meaning: str) -> str:
        return parse_labels(self._services.texts.newest_text(LABELS_TEXT)).get(meaning, meaning)

    async def _called(self, id: str) -> str:
        if self._slack.is_me(id):
            return self._name()
        return await self._slack.name_of(id)

    def health(self) -> Mapping[str, Any]:
        """Return the health; `ok` if events arrive, the journal works and models answer.

        `restart`: a restart may help. `wrong`: faults that no restart mends.
        """
        journal = self._services.journal
        reports = self._models.reports
        restart = self._slack.hearing.is_disconnected or not journal.is_well
        return {
            "ok": not restart and all(one.slow for one in reports),
            "restart": restart,
            "wrong": self._faults(),
            "reports": [self._models.report_as_json(one) for one in reports],
            **self._hearing_state(),
            **self._tool_state(),
            "writable": journal.is_writable,
            "damage": journal.damage,
            "seq": _last_seq(journal),
        }

    def details(self) -> Mapping[str, Any]:
        services, hearing = self._services, self._slack.hearing
        return {
            **self._models.details_as_json(),
            "models": models_by_role(services.settings),
            "backend": backend_as_json(services.claude.backend),
            "version": self._version,
            "uptime": services.clock.steady() - self._began,
            "sockets": hearing.alive_count,
            "sockets_wanted": hearing.wanted,
        }

    def _hearing_state(self) -> Mapping[str, Any]:
        hearing = self._slack.hearing
        return {
            "deaf": hearing.is_disconnected,
            "sockets": hearing.alive_count,
            "inbound_age": hearing.inbound_age,
            "event_age": hearing.event_age,
            **self._backfill_state(),
        }

    def _tool_state(self) -> Mapping[str, Any]:
        """Return a line for each tool server; empty without any."""
        servers = self._services.tools
        names = servers.configuration.current.servers
        lines = [f"{name}: {state_line(servers.connected.state_of(name))}" for name in names]
        return {"tools": lines} if lines else {}

    def _part_of_hearing(self, name: str) -> float | None:
        part: float | None = self._hearing_state()[name]
        return part

    def for_owner(self) -> OwnerStatus:
        return OwnerStatus(
            overview=self.overview,
            inner=self.inside,
            tools=self.tools,
            health=lambda: {**self.health(), **self.details()},
        )

    def _faults(self) -> Sequence[str]:
        reported = [self._models.report_as_json(one)["sentence"] for one in self._models.reports]
        lacking = self._services.claude.backend.check.wrong
        return [*reported, *lacking, *self._slack.owner_advice, *self._budget.fault, *self._file_faults()]

    def _file_faults(self) -> Sequence[str]:
        found = [*self._services.texts.faults]
        if self._services.library:
            found += self._services.library.find_faults()
        found += self._own_files.changed
        found += self._services.tools.configuration.faults
        more = len(found) - MOST_NAMED_FAULTS
        if more > 0:
            found[MOST_NAMED_FAULTS:] = [
                f"So it is with {more} more of your files: `python -m daemon check` names all."
            ]
        return found

    def _backfill_state(self) -> Mapping[str, Any]:
        """Return the state of the backfill; empty before Slack's first hello.

        A failed backfill is reported as running, because it is retried.
        """
        if not self._slack.hearing.opened:
            return {"caught_up_until": None, "catching_up": False, "left_to_read": 0}
        catch_up = self._slack.catch_up
        left = 0
        if catch_up.is_reading_missed:
            left = catch_up.progress.conversations + catch_up.progress.threads
        return {
            "caught_up_until": catch_up.read_until,
            "catching_up": catch_up.is_reading_missed,
            "left_to_read": left,
        }


def _no_link(channel: str, ts: str, root: str) -> str:
    return ""


def _last_seq(journal: Journal) -> int | None:
    try:
        return journal.last_seq_of_all()
    except JournalError:
        return None


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
        mount_consent_callback(app, ConsentAnswers(FolderFiles(settings.soul_home), clock.now).deliver)
    if rehearsal:
        try:
            await stack.enter_async_context(rehearsal.mounted(app))
        except OSError as error:
            raise JournalError(str(error)) from error
    return app, listener, url_of_socket(listener)
