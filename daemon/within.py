"""The inner life of these settings: what it knows, may do and may use; and how it begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields

from config import Settings
from daemon.actions.commands import CommandDependencies
from daemon.actions.own_processes import make_branch_programs
from daemon.actions.registry import ActionRegistry
from daemon.engine.journal import Journal
from daemon.inner.agent_log import TickLog
from daemon.inner.helping import help_text
from daemon.inner.keeping import PersonRecords
from daemon.inner.notes import Notes
from daemon.inner.process_log import ProgramLog
from daemon.inner.reaching import RecipientDirectory
from daemon.inner.record_words import RECORDS
from daemon.inner.records import InnerRecords
from daemon.inner.said import DeliveryLog
from daemon.inner.state import InnerLifeState
from daemon.inner.supervising import ProgramLimits, ProgramSupervisor
from daemon.kinds import INNER, InnerLifeStarted
from daemon.knowledge.journal_index import FullTextIndex
from daemon.knowledge.memories import SAID
from daemon.knowledge.places import KnownChannels
from daemon.knowledge.views import Visibility
from daemon.limits import InnerLimits
from daemon.mind.sections import strip_thoughts
from daemon.ports import Clock, Library
from daemon.processes import InnerLifeSetup
from daemon.services import DaemonServices


def make_index(journal: Journal) -> FullTextIndex:
    """All that can be looked up in this journal by its words. One serves all who do."""
    return FullTextIndex(journal, (SAID, RECORDS))


def make_state(
    journal: Journal, index: FullTextIndex, places: KnownChannels | None = None, call: str = ""
) -> InnerLifeState:
    """All that it knows, folded from the journal whenever it is asked; `call` is its name in Slack."""
    views = Visibility(places or KnownChannels(journal))
    return InnerLifeState(
        log=TickLog(journal),
        notes=Notes(journal, call),
        records=InnerRecords(journal, views, index),
        processes=ProgramLog(journal),
        said=DeliveryLog(journal),
        views=views,
    )


def make_person_records(journal: Journal, index: FullTextIndex, places: KnownChannels) -> PersonRecords:
    """What it keeps about people, to be shown to them: folded only when somebody asks."""
    return PersonRecords(journal, places, InnerRecords(journal, Visibility(places), index))


def make_command_dependencies(
    services: DaemonServices, limits: InnerLimits, library: Library | None
) -> CommandDependencies:
    """What it has to do with: what it knows, whom it reaches, and what its owner gave it."""
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
    """Its life, by the commands of this registry."""

    def said(seq: int) -> str:
        """Without its thoughts; nothing where that is damaged: no tick fails of it for ever."""
        return "".join(strip_thoughts(call.event.text) for call in journal.readable_entries([seq]))

    return InnerLifeSetup(
        state=means.state,
        definitions={one.name: one for one in registry.commands},
        help=help_text(registry.commands),
        limits=means.limits,
        said=said,
        programs=[*_program_slots(means)],
        neighbours=tuple(sorted(neighbours)),
    )


def _program_slots(means: CommandDependencies) -> Iterator[str]:
    """What it may start: a name each, with its slots."""
    for name, recipe in means.recipes.items():
        yield f"{name}({', '.join(recipe.slots)})"
    for name, own in make_branch_programs(folders=means.library is not None).items():
        yield f"{name}({', '.join(own.slots)})"


def make_supervisor(
    settings: Settings, journal: Journal, clock: Clock, wake: Callable[[str], None]
) -> ProgramSupervisor:
    """What runs its programs. None of our own secrets stands in what they come to."""
    values = [getattr(settings, one.name) for one in fields(settings) if not one.repr]
    secrets = [value for value in values if isinstance(value, str) and value]
    return ProgramSupervisor(
        journal,
        clock,
        settings.process_commands,
        settings.processes_path,
        secrets,
        wake,
        bounds=ProgramLimits(seconds=settings.process_timeout),
    )


async def record_start(journal: Journal, limits: InnerLimits) -> None:
    """The daemon was started with an inner life: it is told so before anything else comes to it."""
    began = InnerLifeStarted(reads_dms=limits.reads_dms)
    await journal.append(INNER, began, key=f"inner-began:{journal.last_seq_of_all()}")
