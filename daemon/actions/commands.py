"""The commands of the inner life, as far as they can work here: its part of the one registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.actions.action import Definition
from daemon.actions.cycle_commands import cycle_commands
from daemon.actions.file_commands import file_commands
from daemon.actions.mesh_commands import mesh_commands
from daemon.actions.message_commands import message_commands
from daemon.actions.note_commands import note_commands
from daemon.actions.own_processes import own_processes
from daemon.actions.process_commands import process_commands
from daemon.actions.record_commands import record_commands
from daemon.inner.keeping import shared
from daemon.inner.reaching import Reach
from daemon.inner.state import State
from daemon.limits import INNER, InnerLimits
from daemon.ports import Library
from daemon.recipe import Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What the inner life has to do with: what it knows, whom it reaches, and what its owner gave it.

    `meetings`: how many messages to and from other bots there may be in a UTC day.
    """

    state: State
    reach: Reach
    limits: InnerLimits = INNER
    meetings: int = 20
    library: Library | None = None
    recipes: Mapping[str, Recipe] = field(default_factory=dict)


def commands(means: Means) -> Sequence[Definition]:
    """All of them; without the owner's folders there are none for files."""
    state = means.state
    own = own_processes(folders=means.library is not None)
    found = [
        *note_commands(state.notes),
        *record_commands(state.records),
        *process_commands(state.processes, means.recipes, own),
        *cycle_commands(means.limits.pause, state.processes),
    ]
    if means.library:
        found += file_commands(means.library)
    found += message_commands(means.reach, daily=means.limits.messages)
    found += mesh_commands(means.reach, shared(state.records), daily=means.meetings)
    return found


def all_commands(nothing: Any) -> Sequence[Definition]:
    """All that there could be, only to be described: `nothing` stands for what they would work with."""
    return commands(Means(state=nothing, reach=nothing, library=nothing))
