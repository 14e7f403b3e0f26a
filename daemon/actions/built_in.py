"""The built-in actions and commands, as far as they can work here: the one registry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daemon.actions.action import ActionDefinition
from daemon.actions.commands import all_commands
from daemon.actions.escalation import ask_person, escalate, schedule
from daemon.actions.function import ActionDependencies, ActionFunction, Expert
from daemon.actions.help_command import help_command
from daemon.actions.memory_actions import read_thread, remember, search_memory
from daemon.actions.read_deeply import read_deeply
from daemon.actions.registry import ActionRegistry
from daemon.actions.research import research
from daemon.actions.thinking import respond, think

BUILT_IN = (
    think,
    respond,
    ask_person,
    research,
    read_deeply,
    search_memory,
    read_thread,
    remember,
    schedule,
    escalate,
)


def make_registry(
    means: ActionDependencies, own: Sequence[ActionFunction] = (), inner: Sequence[ActionDefinition] = ()
) -> ActionRegistry:
    """All that can work by these means, with the owner's `own` actions and the `inner` life's commands."""
    found = [one.definition(means) for one in (*BUILT_IN, *own) if one.works_with(means)]
    return ActionRegistry([*found, help_command(inner), *inner])


class PlaceholderDependency:
    """Stands for what actions and commands work with, for whoever only reads what they are called."""

    def __getattr__(self, name: str) -> Any:
        return self


def all_actions(own: Sequence[ActionFunction] = ()) -> ActionRegistry:
    """All that there could be: for checks and documents."""
    nothing: Any = PlaceholderDependency()
    means = ActionDependencies(
        memories=nothing, library=nothing, shelf=nothing, expert=Expert(True), soul_home=nothing
    )
    return make_registry(means, own, all_commands(nothing))
