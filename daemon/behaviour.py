"""How the soul of these settings behaves: its processes, what they choose from, how far they go. For app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from config import Settings
from daemon.actions.built_in import registry_of
from daemon.actions.commands import commands
from daemon.actions.function import ActionFunction, Expert, Means
from daemon.actions.run import Player
from daemon.claude.models import window
from daemon.connections import models_of
from daemon.engine.journal import Journal
from daemon.inner.notes import Notes
from daemon.knowledge.folders import Folders
from daemon.knowledge.journal_index import JournalIndex
from daemon.knowledge.memories import Memories
from daemon.knowledge.people import PersonModels
from daemon.knowledge.recollections import Recollections
from daemon.ports import LLM, Clock, Onlookers, Open, Readings
from daemon.process import Process
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
from daemon.slack.surface import Slack
from daemon.soul.budget import Budget
from daemon.soul.limits import Gauge
from daemon.soul.past import Pasts
from daemon.soul.reach import Reach
from daemon.soul.texts import Texts
from daemon.soul.world import World
from daemon.within import alive, kept_of, means_of, state_of


def processes_of(
    settings: Settings,
    stack: ExitStack,
    journal: Journal,
    index: JournalIndex,
    clock: Clock,
    texts: Texts,
    slack: Slack,
    own: Sequence[ActionFunction],
) -> Mapping[str, Process]:
    """Fixed steps and open thought, and where the owner allows it playbooks and an inner life.

    The folders that they search are open until the stack is.
    """
    folders = Folders(settings.knowledge_dirs) if settings.knowledge_dirs else None
    library = stack.enter_context(folders) if folders else None
    means = None
    if settings.inner:
        state = state_of(journal, index, slack.places)
        means = means_of(settings, settings.inner, journal, clock, slack, state, library)
    given = Means(
        memories=Memories(journal, slack.places, index),
        library=library,
        shelf=slack.shelf,
        expert=Expert(bool(settings.claude_model_expert)),
    )
    registry = registry_of(given, own, inner=commands(means) if means else ())
    processes = reading(thinking(PROCESSES, registry, settings.iteration_capacity), slack.shelf)
    if means:
        processes = living(processes, alive(means, registry, journal, slack.neighbours))
    if not settings.ism_enabled:
        return processes
    player = Player(registry=registry, loops=settings.ism_max_loops)
    return played(processes, player, texts.playbooks, expert=bool(settings.claude_model_expert))


def readings_of(settings: Settings, open: Open) -> Readings:
    """How this soul reads what is long: how far, by which models, and where its programs run."""
    models = models_of(settings)
    windows: dict[str, int] = {}
    for role, model in models.items():
        windows[role] = windows[model] = window(model)
    for model in settings.rlm_models:
        windows.setdefault(model, window(model))
    return Readings(limits=settings.reading, open=open, models=settings.rlm_models, windows=windows)


def world_of(
    settings: Settings,
    stack: ExitStack,
    journal: Journal,
    index: JournalIndex,
    clock: Clock,
    *,
    budget: Budget,
    reach: Reach,
    texts: Texts,
    llm: LLM,
    slack: Slack,
    here: str,
    own: Sequence[ActionFunction],
    processes: Mapping[str, Process] | None,
    open: Open,
    onlookers: Onlookers,
) -> World:
    """What its turns can reach, how it behaves, and how far it goes by itself; the page is `here`."""
    turn, thread, person = settings.limit_turn, settings.limit_thread, settings.limit_person
    processes = processes or processes_of(settings, stack, journal, index, clock, texts, slack, own)
    inner = settings.inner.usd if settings.inner else 0.0
    kept = kept_of(journal, index, slack.places)
    processes = remembering(processes, Recollections(journal, slack.places, slack.speaker.direct, kept))
    playbooks = list[str]()
    if settings.ism_enabled:
        playbooks = [name for name in texts.playbooks if name != EXPERT]
    return World(
        journal=journal,
        llm=llm,
        speaker=slack.speaker,
        clock=clock,
        budget=budget,
        gauge=Gauge(journal, clock, budget, turn=turn, thread=thread, person=person, inner=inner),
        pasts=Pasts(journal),
        people=PersonModels(journal, slack.places),
        reach=reach,
        texts=texts,
        surroundings=slack.surroundings,
        processes=processes,
        initial=INITIAL,
        offered=offered(processes, playbooks, iterates=settings.iteration_capacity != "none"),
        at_once=frozenset([*playbooks, DELIBERATION, DEEP_READING]),
        owners=tuple(sorted(settings.owner_user_ids)),
        console=settings.page(here),
        depth=settings.spawn_max_depth,
        readings=readings_of(settings, open),
        onlookers=onlookers,
        fits=Notes(journal).fits,
    )
