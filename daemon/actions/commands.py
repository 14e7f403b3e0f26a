"""The commands of the inner life, as far as they can work here: its part of the one registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.actions.action import ActionDefinition
from daemon.actions.cycle_commands import cycle_commands
from daemon.actions.file_commands import file_commands
from daemon.actions.mesh_commands import mesh_commands
from daemon.actions.message_commands import message_commands
from daemon.actions.note_commands import note_commands
from daemon.actions.own_processes import make_branch_programs
from daemon.actions.process_commands import program_commands
from daemon.actions.record_commands import record_commands
from daemon.inner.keeping import make_record_sharer
from daemon.inner.reaching import RecipientDirectory
from daemon.inner.state import InnerLifeState
from daemon.limits import INNER, InnerLimits
from daemon.ports import Library
from daemon.recipe import AllowedProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandDependencies:
    """What the inner life has to do with: what it knows, whom it reaches, and what its owner gave it.

    `meetings`: how many messages to and from other bots there may be in a UTC day.
    """

    state: InnerLifeState
    reach: RecipientDirectory
    limits: InnerLimits = INNER
    meetings: int = 20
    library: Library | None = None
    recipes: Mapping[str, AllowedProgram] = field(default_factory=dict)


def make_commands(means: CommandDependencies) -> Sequence[ActionDefinition]:
    """All of them; without the owner's folders there are none for files."""
    state = means.state
    own = make_branch_programs(folders=means.library is not None)
    found = [
        *note_commands(state.notes),
        *record_commands(state.records),
        *program_commands(state.processes, means.recipes, own),
        *cycle_commands(means.limits.pause, state.processes),
    ]
    if means.library:
        found += file_commands(means.library)
    found += message_commands(means.reach, daily=means.limits.messages)
    found += mesh_commands(means.reach, make_record_sharer(state.records), daily=means.meetings)
    return found


def all_commands(nothing: Any) -> Sequence[ActionDefinition]:
    """All that there could be, only to be described: `nothing` stands for what they would work with."""
    return make_commands(CommandDependencies(state=nothing, reach=nothing, library=nothing))
