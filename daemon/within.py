"""The inner life of these settings: what it knows, may do and may use; and how it begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields

from config import Settings
from daemon.actions.commands import Means
from daemon.actions.own_processes import own_processes
from daemon.actions.registry import Registry
from daemon.engine.journal import Journal
from daemon.inner.agent_log import AgentLog
from daemon.inner.helping import help_text
from daemon.inner.keeping import Kept
from daemon.inner.notes import Notes
from daemon.inner.process_log import ProcessLog
from daemon.inner.reaching import Reach
from daemon.inner.record_words import RECORDS
from daemon.inner.records import Records
from daemon.inner.said import SaidLog
from daemon.inner.state import State
from daemon.inner.supervising import Bounds, Supervisor
from daemon.kinds import INNER, InnerBegan
from daemon.knowledge.journal_index import JournalIndex
from daemon.knowledge.memories import SAID
from daemon.knowledge.places import Places
from daemon.knowledge.views import Views
from daemon.limits import InnerLimits
from daemon.mind.sections import without_thoughts
from daemon.ports import Clock, Library
from daemon.processes import Life
from daemon.services import Services


def index_of(journal: Journal) -> JournalIndex:
    """All that can be looked up in this journal by its words. One serves all who do."""
    return JournalIndex(journal, (SAID, RECORDS))


def state_of(journal: Journal, index: JournalIndex, places: Places | None = None, call: str = "") -> State:
    """All that it knows, folded from the journal whenever it is asked; `call` is its name in Slack."""
    views = Views(places or Places(journal))
    return State(
        log=AgentLog(journal),
        notes=Notes(journal, call),
        records=Records(journal, views, index),
        processes=ProcessLog(journal),
        said=SaidLog(journal),
        views=views,
    )


def kept_of(journal: Journal, index: JournalIndex, places: Places) -> Kept:
    """What it keeps about people, to be shown to them: folded only when somebody asks."""
    return Kept(journal, places, Records(journal, Views(places), index))


def means_of(services: Services, limits: InnerLimits, library: Library | None) -> Means:
    """What it has to do with: what it knows, whom it reaches, and what its owner gave it."""
    journal, slack, settings = services.journal, services.slack, services.settings
    return Means(
        state=state_of(journal, services.index, slack.places, slack.name),
        reach=Reach(journal, services.clock, slack.doors, slack.neighbours, slack.meetings),
        limits=limits,
        meetings=settings.mesh_daily,
        library=library,
        recipes=settings.process_commands,
    )


def alive(means: Means, registry: Registry, journal: Journal, neighbours: Iterable[str]) -> Life:
    """Its life, by the commands of this registry."""

    def said(seq: int) -> str:
        """Without its thoughts; nothing where that is damaged: no tick fails of it for ever."""
        return "".join(without_thoughts(call.event.text) for call in journal.readable_entries([seq]))

    return Life(
        state=means.state,
        definitions={one.name: one for one in registry.commands},
        help=help_text(registry.commands),
        limits=means.limits,
        said=said,
        programs=[*_programs(means)],
        neighbours=tuple(sorted(neighbours)),
    )


def _programs(means: Means) -> Iterator[str]:
    """What it may start: a name each, with its slots."""
    for name, recipe in means.recipes.items():
        yield f"{name}({', '.join(recipe.slots)})"
    for name, own in own_processes(folders=means.library is not None).items():
        yield f"{name}({', '.join(own.slots)})"


def supervisor_of(
    settings: Settings, journal: Journal, clock: Clock, wake: Callable[[str], None]
) -> Supervisor:
    """What runs its programs. None of our own secrets stands in what they come to."""
    values = [getattr(settings, one.name) for one in fields(settings) if not one.repr]
    secrets = [value for value in values if isinstance(value, str) and value]
    return Supervisor(
        journal,
        clock,
        settings.process_commands,
        settings.processes_path,
        secrets,
        wake,
        bounds=Bounds(seconds=settings.process_timeout),
    )


async def begin(journal: Journal, limits: InnerLimits) -> None:
    """The daemon was started with an inner life: it is told so before anything else comes to it."""
    began = InnerBegan(reads_dms=limits.reads_dms)
    await journal.append(INNER, began, key=f"inner-began:{journal.last_seq_of_all()}")
