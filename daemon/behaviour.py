"""How the soul of these settings behaves: its processes, what they choose from, how far they go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from config import Settings
from daemon.actions.built_in import make_registry
from daemon.actions.commands import make_commands
from daemon.actions.function import ActionDependencies, ActionFunction, Expert
from daemon.actions.run import PlaybookPlayer
from daemon.connections import models_by_role
from daemon.inner.notes import Notes
from daemon.knowledge.memories import MessageSearch
from daemon.knowledge.person_models import PersonModels
from daemon.knowledge.recollections import PersonNotes
from daemon.ports import Open, ReadingSetup
from daemon.process import OwnAction, Process
from daemon.processes import (
    DEEP_READING_PROCESS,
    DELIBERATION_PROCESS,
    EXPERT_PROCESS,
    INITIAL_PROCESS,
    PROCESSES,
    offered_processes,
    with_deep_reading,
    with_inner_life,
    with_open_thought,
    with_person_notes,
    with_playbooks,
)
from daemon.services import DaemonServices
from daemon.soul.gauge import LimitChecker
from daemon.soul.past import ThreadHistories
from daemon.soul.world import TurnDependencies
from daemon.within import make_command_dependencies, make_inner_life, make_person_records


def make_processes(services: DaemonServices, own: Sequence[ActionFunction]) -> Mapping[str, Process]:
    """Fixed steps and open thought, and where the owner allows it playbooks and an inner life."""
    settings, slack, journal = services.settings, services.slack, services.journal
    library, given = services.library, _action_dependencies(services)
    if settings.inner:
        means = make_command_dependencies(services, settings.inner, library)
        registry = make_registry(given, own, inner=make_commands(means))
        processes = with_inner_life(PROCESSES, make_inner_life(means, registry, journal, slack.neighbours))
    else:
        processes = PROCESSES
        registry = make_registry(given, own)
    processes = with_open_thought(processes, registry, settings.iteration_capacity)
    processes = with_deep_reading(processes, slack.shelf, library)
    if not settings.ism_enabled:
        return processes
    player = PlaybookPlayer(registry=registry, loops=settings.ism_max_loops)
    return with_playbooks(
        processes, player, services.texts.playbooks, expert=bool(settings.claude_model_expert)
    )


def _action_dependencies(services: DaemonServices) -> ActionDependencies:
    """Make what the actions of this soul are given."""
    slack, settings = services.slack, services.settings
    return ActionDependencies(
        memories=MessageSearch(services.journal, slack.places, services.index, slack.name),
        library=services.library,
        shelf=slack.shelf,
        expert=Expert(bool(settings.claude_model_expert)),
        soul_home=settings.soul_home,
    )


def _shown_own_actions(services: DaemonServices, own: Sequence[ActionFunction]) -> list[OwnAction]:
    """List the owner's actions that the soul is told of before it chooses among them."""
    given = _action_dependencies(services)
    return [
        OwnAction(name=one.name, about=one.description, playbooks=one.playbooks)
        for one in own
        if one.works_with(given)
    ]


def make_reading_setup(settings: Settings, open: Open) -> ReadingSetup:
    """How this soul reads what is long: how far, by which models, and where its programs run."""
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


def make_turn_dependencies(
    services: DaemonServices, own: Sequence[ActionFunction], processes: Mapping[str, Process], open: Open
) -> TurnDependencies:
    """What its turns can reach, how it behaves, and how far it goes by itself."""
    settings, journal, slack = services.settings, services.journal, services.slack
    kept = make_person_records(journal, services.index, slack.places)
    people = PersonModels(journal, slack.places)
    notes = PersonNotes(journal, people, slack.speaker.open_dm, kept)
    processes = with_person_notes(processes, notes, local=settings.slack == "rehearsed")
    playbooks, own_actions = list[str](), list[OwnAction]()
    actions = make_registry(_action_dependencies(services), own).named
    if settings.ism_enabled:
        own_actions = _shown_own_actions(services, own)
        playbooks = [name for name in services.texts.playbooks if name != EXPERT_PROCESS]
    return TurnDependencies(
        journal=journal,
        llm=services.claude,
        speaker=slack.speaker,
        clock=services.clock,
        budget=services.budget,
        gauge=_make_usage_meter(services),
        pasts=ThreadHistories(journal),
        people=people,
        reach=services.reach,
        texts=services.texts,
        surroundings=slack.surroundings,
        processes=processes,
        initial=INITIAL_PROCESS,
        offered=offered_processes(processes, playbooks, iterates=settings.iteration_capacity != "none"),
        at_once=frozenset([*playbooks, DELIBERATION_PROCESS, DEEP_READING_PROCESS]),
        own_actions=own_actions,
        actions=frozenset(actions),
        owners=tuple(sorted(settings.owner_user_ids)),
        console=settings.page(services.url),
        depth=settings.spawn_max_depth,
        readings=make_reading_setup(settings, open),
        onlookers=services.thinking,
        queue=services.queue,
        fits=Notes(journal).fits,
    )


def _make_usage_meter(services: DaemonServices) -> LimitChecker:
    """What measures how far it may go."""
    settings = services.settings
    return LimitChecker(
        services.journal,
        services.clock,
        services.budget,
        turn=settings.limit_turn,
        thread=settings.limit_thread,
        person=settings.limit_person,
        inner=settings.inner.usd if settings.inner else 0.0,
    )
