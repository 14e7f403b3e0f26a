"""Construction of services, processes and turn dependencies from the settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from config import Settings
from daemon.actions.function import ActionDependencies, ActionFunction, Expert
from daemon.actions.registry import ActionRegistry, help_text
from daemon.answers.speech_gate import strip_thoughts
from daemon.app.discovery import (
    PROCESSES,
    CommandDependencies,
    ProcessDependencies,
    bind_processes,
    make_commands,
    make_registry,
)
from daemon.app.rehearsed_tools import RehearsedServer
from daemon.app.tool_services import ToolServices, key_files, secrets_of
from daemon.claude.availability import AnswerForms, ModelAvailability
from daemon.claude.backend import CapabilityFile, ModelBackend
from daemon.claude.client import ClaudeClient, Tried
from daemon.claude.model_apis import ChatCompletions
from daemon.claude.model_places import ModelPlaces
from daemon.claude.request_queue import RequestQueue
from daemon.console.access import HEADER
from daemon.console.live_calls import LiveCalls
from daemon.engine.clock import Clock
from daemon.engine.journal.journal import Journal
from daemon.inner_life.contexts import InnerLifeSetup
from daemon.inner_life.notes import Notes
from daemon.inner_life.programs.placement import ProgramPlacement
from daemon.inner_life.programs.program_folder import end_and_remove, program_folder_of
from daemon.inner_life.programs.supervisor import ProgramLimits, ProgramSupervisor
from daemon.inner_life.recipients import PersonRecords, RecipientDirectory
from daemon.inner_life.records import RECORDS, InnerRecords
from daemon.inner_life.tick_log import DeliveryLog, InnerLifeState, ProgramLog, TickLog
from daemon.kinds import INNER, SERVED_CALLER, InnerLifeStarted
from daemon.knowledge.forgetting import Clear, ForgottenContent
from daemon.knowledge.library import FolderLibrary
from daemon.knowledge.person_notes import PersonModels, PersonNotes
from daemon.knowledge.search import SAID, FullTextIndex, MessageSearch
from daemon.knowledge.visibility import KnownChannels, Visibility
from daemon.lifetime import RoleHolder
from daemon.model import Role
from daemon.playbooks.run import PlaybookPlayer
from daemon.ports import Library, Open, ReadingSetup
from daemon.process import MentalProcess
from daemon.prompts.prompt_catalogue import PLAYBOOK_FOLDER, WHEN_FOLDER, OwnAction
from daemon.sandbox.session import SandboxFactory
from daemon.settings.limits import InnerLimits
from daemon.slack.app_share import AppShare
from daemon.slack.directory import AccessPolicy
from daemon.slack.surface import Admit, SlackSurface
from daemon.slack.web_api import SlackAccess
from daemon.tools.served_speaker import RoutedSpeaker, ServedSpeaker
from daemon.turn.history import ThreadHistories
from daemon.turn.input_policy import (
    DEEP_READING_PROCESS,
    DELIBERATION_PROCESS,
    ERRANDS_PROCESS,
    EXPERT_PROCESS,
    INITIAL_PROCESS,
    SELF_CALL_TEXT,
)
from daemon.turn.prompt_files import PromptFiles
from daemon.turn.turn import Process, TurnDependencies
from daemon.turn.usage_limits import DailyBudget, LimitChecker


class RehearsalMount(Protocol):
    """Rehearsed Slack, Claude and tools, loaded only if configured.

    The tokens are those of the soul's rehearsed app.
    """

    @property
    def bot_token(self) -> str: ...
    @property
    def app_token(self) -> str: ...
    @property
    def tools(self) -> Sequence[RehearsedServer]: ...
    def mounted(self, app: web.Application) -> AbstractAsyncContextManager[None]:
        """Serve them in the application, inside the block. Raises OSError."""


def make_claude(settings: Settings, clock: Clock, here: str, tried: Tried | None = None) -> ClaudeClient:
    """Return the model client; `here` is a rehearsed server, `tried` a callback for failed tries."""
    if settings.claude == "rehearsed":
        return ClaudeClient(
            api_key="rehearsal",
            base_url=here,
            headers=_headers(settings),
            models=models_by_role(settings),
            clock=clock,
            rehearsed=True,
            table=settings.table,
            limits=settings.stream,
        )
    key, api = settings.anthropic_api_key, None
    if settings.openai_base_url:
        key = settings.openai_api_key
        api = ChatCompletions(base_url=settings.openai_base_url, api_key=key)
    return ClaudeClient(
        api_key=key,
        base_url=settings.anthropic_base_url,
        api=api,
        models=models_by_role(settings),
        clock=clock,
        table=settings.table,
        tried=tried,
        backend=ModelBackend(settings.named_models, CapabilityFile(settings.capabilities_path)),
        limits=settings.stream,
    )


def make_request_queue(
    settings: Settings, claude: ClaudeClient, places: ModelPlaces | None = None
) -> RequestQueue:
    """Return the queue to unlisted models; `places`: those of this daemon among several."""
    return RequestQueue(settings.model_concurrency, lambda model: claude.capabilities(model).slots, places)


def make_answer_forms(settings: Settings, claude: ClaudeClient) -> AnswerForms:
    return AnswerForms(
        models_by_role(settings), settings.model_form, lambda role: claude.capabilities(role).keeps_sections
    )


def models_by_role(settings: Settings) -> Mapping[Role, str]:
    """Map roles to model names; the speaking model replaces a missing fallback."""
    models: dict[Role, str] = {
        "speak": settings.claude_model,
        "fast": settings.claude_model_fast,
        "fallback": settings.claude_model_fallback or settings.claude_model,
    }
    if settings.claude_model_expert:
        models["expert"] = settings.claude_model_expert
    return models


def make_sandboxes(settings: Settings) -> SandboxFactory:
    """Return the sandboxes of readings. Raises ConfigError for an invalid class."""
    return SandboxFactory(settings.rlm_sandbox)


def make_slack_access(
    settings: Settings, rehearsal: RehearsalMount | None = None, here: str = ""
) -> SlackAccess:
    """Return access to Slack, or to the rehearsed one at `here`."""
    if rehearsal is None or settings.slack == "real":
        return SlackAccess(
            bot_token=settings.slack_bot_token,
            app_token=settings.slack_app_token,
            base_url=settings.slack_api_url,
        )
    return SlackAccess(
        bot_token=rehearsal.bot_token,
        app_token=rehearsal.app_token,
        base_url=f"{here}/api/",
        headers=_headers(settings),
    )


def make_slack(
    settings: Settings,
    access: SlackAccess,
    journal: Journal,
    clock: Clock,
    wake: Callable[[str], None],
    share: AppShare,
    admit: Admit,
) -> SlackSurface:
    """Return the workspace; it receives nothing before it connects."""
    allowed = AccessPolicy(
        users=settings.allowed_users,
        channels=settings.allowed_channels,
        bots=settings.allowed_bots,
        daily=settings.mesh_daily,
    )
    return SlackSurface(
        access,
        allowed,
        journal=journal,
        wake=wake,
        clock=clock,
        connections=settings.slack_connections,
        max_age=settings.catch_up_max_age,
        owners=settings.owner_user_ids,
        notes=settings.inner is not None,
        share=share,
        admit=admit,
    )


def clear_after_forgetting(
    settings: Settings, rehearsal: RehearsalMount | None, here: str
) -> Sequence[Clear]:
    """Return cleanups after a forget request; `here` is the rehearsed workspace."""

    async def folders(gone: ForgottenContent) -> None:
        for started in gone.started:
            folder = program_folder_of(settings.processes_path, started)
            await asyncio.to_thread(end_and_remove, folder)

    async def workspace(gone: ForgottenContent) -> None:
        if not gone.all:
            return
        said = [list(one) for one in gone.said]
        asked = {"user": gone.person, "until": gone.until, "messages": said}
        try:
            async with ClientSession(headers=_headers(settings), timeout=ClientTimeout(total=60)) as session:
                await session.post(f"{here}/rehearsal/forget", json=asked, raise_for_status=True)
        except (ClientError, TimeoutError) as error:
            raise OSError(f"The rehearsed workspace did not forget ({error}).") from error

    if rehearsal and settings.slack == "rehearsed":
        return [folders, workspace]
    return [folders]


def _headers(settings: Settings) -> dict[str, str]:
    if not settings.console_token:
        return {}
    return {HEADER: settings.console_token}


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonServices:
    """Services that all parts of a daemon share.

    `url`: its address. `thinking`: thoughts not yet recorded, for the page. `tools`: those of MCP servers.
    """

    settings: Settings
    clock: Clock
    url: str
    journal: Journal
    index: FullTextIndex
    texts: PromptFiles
    claude: ClaudeClient
    queue: RequestQueue
    slack: SlackSurface
    budget: DailyBudget
    reach: ModelAvailability
    thinking: LiveCalls
    library: FolderLibrary | None
    tools: ToolServices
    served: ServedSpeaker


def with_playbooks(
    known: Mapping[str, MentalProcess], player: PlaybookPlayer, playbooks: Iterable[str], *, expert: bool
) -> Mapping[str, MentalProcess]:
    """Return the processes; those with a playbook run it."""
    roles: dict[str, Role] = {name: "speak" for name in playbooks if name != DELIBERATION_PROCESS}
    if expert:
        roles[EXPERT_PROCESS] = "expert"
    processes = dict(known)
    for name, role in roles.items():
        run = player.process(name, role)
        fixed = processes.get(name, MentalProcess(name=name, run=run))
        processes[name] = replace(fixed, run=run)
    return processes


def offered_processes(
    processes: Mapping[str, Process], playbooks: Iterable[str], *, iterates: bool = True
) -> Mapping[str, tuple[str, ...]]:
    """Map possible targets of transitions to texts that say when.

    Without iteration, open thought is offered only on request.
    """
    books = set(playbooks)
    ways: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys((INITIAL_PROCESS, *sorted(processes), *sorted(books))):
        sources = []
        if name in books:
            sources.append(f"{PLAYBOOK_FOLDER}{name}")
        process = processes.get(name)
        if not isinstance(process, MentalProcess):
            process = PROCESSES.get(name)
        if process and process.when:
            sources.append(f"{WHEN_FOLDER}{name}")
        if name == DELIBERATION_PROCESS and not iterates:
            sources = [SELF_CALL_TEXT]
        if sources:
            ways[name] = tuple(sources)
    return ways


def make_index(journal: Journal) -> FullTextIndex:
    """Return the shared full-text index."""
    return FullTextIndex(journal, (SAID, RECORDS))


def make_state(
    journal: Journal, index: FullTextIndex, places: KnownChannels | None = None, call: str = ""
) -> InnerLifeState:
    """Return the inner life's state; `call` is its name in Slack."""
    views = Visibility(places or KnownChannels(journal))
    return InnerLifeState(
        log=TickLog(journal),
        notes=Notes(journal, call),
        records=InnerRecords(journal, views, index),
        processes=ProgramLog(journal),
        deliveries=DeliveryLog(journal),
        views=views,
    )


def make_person_records(journal: Journal, index: FullTextIndex, places: KnownChannels) -> PersonRecords:
    return PersonRecords(journal, places, InnerRecords(journal, Visibility(places), index))


def make_command_dependencies(
    services: DaemonServices, limits: InnerLimits, library: Library | None
) -> CommandDependencies:
    journal, slack, settings = services.journal, services.slack, services.settings
    return CommandDependencies(
        state=make_state(journal, services.index, slack.places, slack.name),
        reach=RecipientDirectory(journal, services.clock, slack.doors, slack.neighbours, slack.meetings),
        limits=limits,
        meetings=settings.mesh_daily,
        library=library,
        recipes=settings.process_commands,
    )


def make_inner_life(
    means: CommandDependencies, registry: ActionRegistry, journal: Journal, neighbours: Iterable[str]
) -> InnerLifeSetup:
    def said(seq: int) -> str:
        """Return an answer without thoughts; empty if damaged, so that no tick keeps failing."""
        return "".join(strip_thoughts(call.event.text) for call in journal.readable_entries([seq]))

    return InnerLifeSetup(
        state=means.state,
        definitions={one.name: one for one in registry.commands},
        help=help_text(registry.commands),
        limits=means.limits,
        said=said,
        programs=[*_program_slots(means)],
        neighbours=tuple(sorted(neighbours)),
        tools=registry.tools,
        open_dm=means.reach.direct,
    )


def _program_slots(means: CommandDependencies) -> Iterator[str]:
    for name, recipe in means.recipes.items():
        yield f"{name}({', '.join(recipe.slots)})"
    for name, own in means.branch_programs.items():
        yield f"{name}({', '.join(own.slots)})"


INNER_LIFE = "inner life"
"""Role of the daemon that begins the inner life and runs its programs."""


def make_supervisor(
    settings: Settings,
    journal: Journal,
    clock: Clock,
    wake: Callable[[str], None],
    placement: ProgramPlacement | None = None,
) -> ProgramSupervisor:
    """Return the supervisor, which removes our secrets from output; `placement`: that of several daemons."""
    return ProgramSupervisor(
        journal,
        clock,
        settings.process_commands,
        settings.processes_path,
        secrets_of(settings),
        wake,
        bounds=ProgramLimits(seconds=settings.process_timeout),
        hidden=key_files(settings),
        placement=placement,
    )


async def record_start(journal: Journal, limits: InnerLimits, roles: RoleHolder | None = None) -> None:
    """Record that the daemon started with an inner life, before other input.

    With `roles`, wait until this daemon has the inner life of several.
    """
    if roles:
        await roles.hold(INNER_LIFE)
    began = InnerLifeStarted(reads_dms=limits.reads_dms)
    await journal.append(INNER, began, key=f"inner-began:{journal.last_seq_of_all()}")


def make_processes(services: DaemonServices, own: Sequence[ActionFunction]) -> Mapping[str, Process]:
    """Return the processes; playbooks and an inner life only if configured."""
    settings, slack, journal = services.settings, services.slack, services.journal
    library, given = services.library, _action_dependencies(services)
    life = None
    registry = make_registry(given, own, tools=services.tools.source)
    if settings.inner:
        means = make_command_dependencies(services, settings.inner, library)
        registry = make_registry(given, own, make_commands(means), services.tools.source)
        life = make_inner_life(means, registry, journal, slack.neighbours)
    processes = bind_processes(
        PROCESSES,
        ProcessDependencies(
            shelf=slack.shelf,
            library=library,
            actions=registry,
            capacity=settings.iteration_capacity,
            life=life,
        ),
    )
    player = PlaybookPlayer(registry=registry, loops=settings.ism_max_loops)
    expert = settings.ism_enabled and bool(settings.claude_model_expert)
    return with_playbooks(processes, player, _played(services), expert=expert)


def _played(services: DaemonServices) -> Sequence[str]:
    """Return the playbooks that are run: without the ISM only the errands, which use an owner's tools."""
    if services.settings.ism_enabled:
        return services.texts.playbooks
    return [name for name in services.texts.playbooks if name == ERRANDS_PROCESS]


def _action_dependencies(services: DaemonServices) -> ActionDependencies:
    slack, settings = services.slack, services.settings
    return ActionDependencies(
        memories=MessageSearch(services.journal, slack.places, services.index, slack.name),
        library=services.library,
        shelf=slack.shelf,
        expert=Expert(bool(settings.claude_model_expert)),
        soul_home=settings.soul_home,
    )


def _shown_own_actions(services: DaemonServices, own: Sequence[ActionFunction]) -> list[OwnAction]:
    """Return owner's actions shown before the choice."""
    given = _action_dependencies(services)
    return [
        OwnAction(name=one.name, about=one.description, playbooks=one.playbooks)
        for one in own
        if one.works_with(given)
    ]


def make_reading_setup(settings: Settings, open: Open) -> ReadingSetup:
    models, table = models_by_role(settings), settings.table
    windows: dict[str, int] = {}
    for role, model in models.items():
        windows[role] = windows[model] = table.model(model).most_prompt_bytes
    for model in settings.rlm_models:
        windows.setdefault(model, table.model(model).most_prompt_bytes)
    names = {str(role): model for role, model in models.items()}
    return ReadingSetup(
        limits=settings.reading,
        open=open,
        models=settings.rlm_models,
        windows=windows,
        names=[names.get(one, one) for one in settings.rlm_models],
    )


def _make_person_notes(services: DaemonServices, people: PersonModels) -> PersonNotes:
    journal, slack = services.journal, services.slack
    kept = make_person_records(journal, services.index, slack.places)
    return PersonNotes(journal, people, slack.speaker.open_dm, kept)


def _make_process_dependencies(services: DaemonServices, people: PersonModels) -> ProcessDependencies:
    return ProcessDependencies(
        notes=_make_person_notes(services, people),
        local=services.settings.slack == "rehearsed",
        tools=services.tools.catalogue,
    )


def make_turn_dependencies(
    services: DaemonServices, own: Sequence[ActionFunction], processes: Mapping[str, Process], open: Open
) -> TurnDependencies:
    settings, journal, slack = services.settings, services.journal, services.slack
    people = PersonModels(journal, slack.places)
    playbooks = [name for name in _played(services) if name != EXPERT_PROCESS]
    own_actions = _shown_own_actions(services, own) if settings.ism_enabled else []
    actions = make_registry(_action_dependencies(services), own).named
    return TurnDependencies(
        journal=journal,
        llm=services.claude,
        speaker=RoutedSpeaker(slack.speaker, services.served, journal),
        clock=services.clock,
        budget=services.budget,
        gauge=_make_limit_checker(services),
        pasts=ThreadHistories(journal),
        people=people,
        reach=services.reach,
        texts=services.texts,
        surroundings=slack.surroundings,
        processes=bind_processes(processes, _make_process_dependencies(services, people)),
        initial=INITIAL_PROCESS,
        offered=offered_processes(processes, playbooks, iterates=settings.iteration_capacity != "none"),
        at_once=frozenset([*playbooks, DELIBERATION_PROCESS, DEEP_READING_PROCESS]),
        own_actions=own_actions,
        actions=frozenset(actions),
        servers_at=services.tools.source.servers_at,
        owners=tuple(sorted(settings.owner_user_ids)),
        console=settings.page(services.url),
        depth=settings.spawn_max_depth,
        readings=make_reading_setup(settings, open),
        show_call=services.thinking.attempt,
        queue=services.queue,
        fits=Notes(journal).fits,
    )


def _make_limit_checker(services: DaemonServices) -> LimitChecker:
    settings = services.settings
    return LimitChecker(
        services.journal,
        services.clock,
        services.budget,
        turn=settings.limit_turn,
        thread=settings.limit_thread,
        person=settings.limit_person,
        inner=settings.inner.usd if settings.inner else 0.0,
        single={SERVED_CALLER: replace(settings.limit_person, usd=settings.mcp_daily_usd)},
    )
