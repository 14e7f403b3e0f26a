"""How the soul of these settings behaves: its processes, what they choose from, how far they go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from config import Settings
from daemon.actions.built_in import registry_of
from daemon.actions.commands import commands
from daemon.actions.function import ActionFunction, Expert, Means
from daemon.actions.run import Player
from daemon.connections import models_of
from daemon.inner.notes import Notes
from daemon.knowledge.memories import Memories
from daemon.knowledge.person_models import PersonModels
from daemon.knowledge.recollections import Recollections
from daemon.ports import Open, Readings
from daemon.process import OwnAction, Process
from daemon.processes import (
    DEEP_READING,
    DELIBERATION,
    EXPERT,
    INITIAL,
    PROCESSES,
    living,
    offered,
    played,
    reading,
    remembering,
    thinking,
)
from daemon.services import Services
from daemon.soul.gauge import Gauge
from daemon.soul.past import Pasts
from daemon.soul.world import World
from daemon.within import alive, kept_of, means_of


def processes_of(services: Services, own: Sequence[ActionFunction]) -> Mapping[str, Process]:
    """Fixed steps and open thought, and where the owner allows it playbooks and an inner life."""
    settings, slack, journal = services.settings, services.slack, services.journal
    library, given = services.library, _given(services)
    if settings.inner:
        means = means_of(services, settings.inner, library)
        registry = registry_of(given, own, inner=commands(means))
        processes = living(PROCESSES, alive(means, registry, journal, slack.neighbours))
    else:
        processes = PROCESSES
        registry = registry_of(given, own)
    processes = thinking(processes, registry, settings.iteration_capacity)
    processes = reading(processes, slack.shelf, library)
    if not settings.ism_enabled:
        return processes
    player = Player(registry=registry, loops=settings.ism_max_loops)
    return played(processes, player, services.texts.playbooks, expert=bool(settings.claude_model_expert))


def _given(services: Services) -> Means:
    """Make what the actions of this soul are given."""
    slack, settings = services.slack, services.settings
    return Means(
        memories=Memories(services.journal, slack.places, services.index, slack.name),
        library=services.library,
        shelf=slack.shelf,
        expert=Expert(bool(settings.claude_model_expert)),
        soul_home=settings.soul_home,
    )


def _told_of(services: Services, own: Sequence[ActionFunction]) -> list[OwnAction]:
    """List the owner's actions that the soul is told of before it chooses among them."""
    given = _given(services)
    return [
        OwnAction(name=one.name, about=one.description, playbooks=one.playbooks)
        for one in own
        if one.works_with(given)
    ]


def readings_of(settings: Settings, open: Open) -> Readings:
    """How this soul reads what is long: how far, by which models, and where its programs run."""
    models, table = models_of(settings), settings.table
    windows: dict[str, int] = {}
    for role, model in models.items():
        windows[role] = windows[model] = table.model(model).most_prompt_bytes
    for model in settings.rlm_models:
        windows.setdefault(model, table.model(model).most_prompt_bytes)
    names = {str(role): model for role, model in models.items()}
    return Readings(
        limits=settings.reading,
        open=open,
        models=settings.rlm_models,
        windows=windows,
        names=[names.get(one, one) for one in settings.rlm_models],
    )


def world_of(
    services: Services, own: Sequence[ActionFunction], processes: Mapping[str, Process], open: Open
) -> World:
    """What its turns can reach, how it behaves, and how far it goes by itself."""
    settings, journal, slack = services.settings, services.journal, services.slack
    kept = kept_of(journal, services.index, slack.places)
    people = PersonModels(journal, slack.places)
    notes = Recollections(journal, people, slack.speaker.open_dm, kept)
    processes = remembering(processes, notes, local=settings.slack == "rehearsed")
    playbooks, own_actions = list[str](), list[OwnAction]()
    actions = registry_of(_given(services), own).named
    if settings.ism_enabled:
        own_actions = _told_of(services, own)
        playbooks = [name for name in services.texts.playbooks if name != EXPERT]
    return World(
        journal=journal,
        llm=services.claude,
        speaker=slack.speaker,
        clock=services.clock,
        budget=services.budget,
        gauge=_gauge(services),
        pasts=Pasts(journal),
        people=people,
        reach=services.reach,
        texts=services.texts,
        surroundings=slack.surroundings,
        processes=processes,
        initial=INITIAL,
        offered=offered(processes, playbooks, iterates=settings.iteration_capacity != "none"),
        at_once=frozenset([*playbooks, DELIBERATION, DEEP_READING]),
        own_actions=own_actions,
        actions=frozenset(actions),
        owners=tuple(sorted(settings.owner_user_ids)),
        console=settings.page(services.url),
        depth=settings.spawn_max_depth,
        readings=readings_of(settings, open),
        onlookers=services.thinking,
        queue=services.queue,
        fits=Notes(journal).fits,
    )


def _gauge(services: Services) -> Gauge:
    """What measures how far it may go."""
    settings = services.settings
    return Gauge(
        services.journal,
        services.clock,
        services.budget,
        turn=settings.limit_turn,
        thread=settings.limit_thread,
        person=settings.limit_person,
        inner=settings.inner.usd if settings.inner else 0.0,
    )
