"""How the soul of these settings behaves: its processes, what they choose from, how far they go. For app."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from config import Settings
from daemon.actions.built_in import built_in
from daemon.actions.playing import Player
from daemon.entry import digest
from daemon.journal.journal import Journal
from daemon.knowledge.folders import Folders
from daemon.knowledge.memories import Memories
from daemon.knowledge.people import PersonModels
from daemon.knowledge.places import Places
from daemon.life.begin import Blueprint
from daemon.life.budget import Budget
from daemon.life.limits import Gauge
from daemon.life.past import Pasts
from daemon.life.reach import Reach
from daemon.life.scope import World
from daemon.life.texts import Texts
from daemon.ports import LLM, Clock, Speaker, Surroundings
from daemon.process import Process
from daemon.processes import EXPERT, OFFERED, PROCESSES, played
from daemon.project import code


def processes_of(
    settings: Settings, stack: ExitStack, journal: Journal, texts: Texts
) -> Mapping[str, Process]:
    """Fixed steps, or where the owner allows it playbooks. What these search is open until the stack is."""
    if not settings.ism_enabled:
        return PROCESSES
    folders = Folders(settings.knowledge_dirs) if settings.knowledge_dirs else None
    registry = built_in(
        stack.enter_context(Memories(journal, Places(journal))),
        stack.enter_context(folders) if folders else None,
        expert=bool(settings.claude_model_expert),
    )
    player = Player(registry=registry, loops=settings.ism_max_loops)
    return played(player, texts.playbooks, expert=bool(settings.claude_model_expert))


def blueprint(
    settings: Settings, texts: Texts, processes: Mapping[str, Process], surroundings: Surroundings
) -> Blueprint:
    """The soul, as its threads begin their turns with it."""
    playbooks = [name for name in texts.playbooks if name != EXPERT] if settings.ism_enabled else []
    behaviour = (
        settings.ism_enabled,
        settings.ism_max_loops,
        settings.claude_model_expert,
        bool(settings.knowledge_dirs),
        *sorted(settings.owner_user_ids),
    )  # what else decides what is asked: a body that waits does not go on where it has changed
    return Blueprint(
        texts=texts,
        processes=processes,
        initial=OFFERED[0],
        code=digest([code(), *sorted(processes), *behaviour]),
        surroundings=surroundings,
        offered=tuple(dict.fromkeys([*OFFERED, *playbooks])),
        at_once=frozenset(playbooks),
    )


def world_of(
    settings: Settings,
    journal: Journal,
    clock: Clock,
    budget: Budget,
    reach: Reach,
    life: int,
    *,
    llm: LLM,
    speaker: Speaker,
    here: str,
) -> World:
    """What its turns can reach, and how far it goes by itself; the page is `here`, `life` names this one."""
    turn, thread, person = settings.limit_turn, settings.limit_thread, settings.limit_person
    return World(
        journal=journal,
        llm=llm,
        speaker=speaker,
        clock=clock,
        budget=budget,
        pasts=Pasts(journal),
        people=PersonModels(journal, Places(journal)),
        gauge=Gauge(journal, clock, budget, turn=turn, thread=thread, person=person),
        reach=reach,
        owners=tuple(sorted(settings.owner_user_ids)),
        console=f"{here}/",
        life=life,
    )
